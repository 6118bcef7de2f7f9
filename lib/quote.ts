/** What somebody may have meant by a text that is not valid, and how to show that text. */

const SHOWN_CHARACTERS = 60;

/** The text in double quotes, control characters escaped, cut after 60 characters. */
export function quote(text: string): string {
  return JSON.stringify(text.length > SHOWN_CHARACTERS ? `${text.slice(0, SHOWN_CHARACTERS)}…` : text);
}
