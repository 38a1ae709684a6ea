import { InvalidArgumentError } from 'commander'

/** `--html session.jsonl` would write over the session that it should read. */
export function htmlFile(text: string): string {
  if (/\.html?$/i.test(text)) return text
  throw new InvalidArgumentError('The name of the page should end in .html.')
}
