import { harmless, harmlessJson } from './harmless.ts'
import { screenOf } from './screen.ts'
import { renderTable, type Column } from './table.ts'

/** JSON for programs, text for people; one of the two. */
export function print(asJson: boolean | undefined, value: unknown, text: () => string): void {
  process.stdout.write(asJson === true ? `${harmlessJson(value, 2)}\n` : ended(harmless(text())))
}

/** Fitted to a terminal; a pipe gets every cell whole, since `grep` and `cut` have no use for an ellipsis. */
export function printTable(columns: readonly Column[], rows: readonly (readonly string[])[]): string {
  const screen = screenOf(process.stdout)
  return renderTable(columns, rows, screen.isTerminal ? screen : { ...screen, width: Infinity })
}

const ended = (text: string): string => (text === '' || text.endsWith('\n') ? text : `${text}\n`)

export const when = (at: number): string => new Date(at).toISOString().slice(0, 16).replace('T', ' ')
