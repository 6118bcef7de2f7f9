export default function smoke(): void {}
