/** What k6's engine has as globals and its types leave to the DOM. */
declare const console: {
  info(line: string): void;
  warn(line: string): void;
  error(line: string): void;
};
