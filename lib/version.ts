/** Name and version as results carry them; a test holds it equal to package.json. */
export const TOOL = 'tokramp 0.1.0';
