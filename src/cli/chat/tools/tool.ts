import type { ToolDeclared } from '../../../formats/wire/chat.ts'

/** What a tool may do without being asked about. */
export type Risk = 'none' | 'edit' | 'shell'

export interface ToolContext {
  readonly cwd: string
  readonly signal: AbortSignal
}

export interface Tool extends ToolDeclared {
  /** Risk of this very call: a read outside the working folder is more than a read. */
  risk(input: Fields, context: ToolContext): Promise<Risk>
  /** One line for the person who is asked or who watches. */
  describe(input: Fields): string
  /** @throws with a sentence that the model can act on. */
  run(input: Fields, context: ToolContext): Promise<string>
}

export type Fields = Readonly<Record<string, unknown>>

export function stringField(input: Fields, name: string): string {
  const value = input[name]
  if (typeof value === 'string') return value
  throw new Error(`"${name}" should be a string.`)
}

export function numberField(input: Fields, name: string, fallback: number): number {
  const value = input[name]
  if (value === undefined || value === null) return fallback
  if (typeof value === 'number' && Number.isFinite(value)) return value
  throw new Error(`"${name}" should be a number.`)
}

export const parametersOf = (
  properties: Readonly<Record<string, { readonly type: string; readonly description: string }>>,
  required: readonly string[],
): object => ({ type: 'object', properties, required })
