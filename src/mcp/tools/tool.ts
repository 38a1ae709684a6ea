import type { Property, ReaderTool } from '../../engine/readers/tools.ts'
import type { Reach } from '../scope.ts'

/** A tool as the server offers it. Declared like the readers, and checked by the same code. */
export interface McpTool extends ReaderTool {
  readonly title: string
  readonly outputSchema: OutputSchema
  /** Changes nothing that a conversation would notice. */
  readonly isReadOnly: boolean
  /** Asks a model outside of this process. */
  readonly asksModel?: boolean
  run(input: Readonly<Record<string, unknown>>, call: ToolCall): Promise<ToolOutcome>
}

export interface ToolCall {
  readonly signal: AbortSignal
  readonly onProgress: (share: number) => void
}

export interface ToolOutcome {
  readonly ok: boolean
  /** For the model to read. */
  readonly text: string
  /** The same for a program. */
  readonly data: Readonly<Record<string, unknown>>
}

export interface OutputSchema {
  readonly type: 'object'
  readonly properties: Readonly<Record<string, object>>
  readonly required: readonly string[]
}

export const TEXT = { type: 'string' } as const
export const NUMBER = { type: 'number' } as const
export const BOOLEAN = { type: 'boolean' } as const
export const listOf = (items: object): object => ({ type: 'array', items })

export const output = (
  properties: Readonly<Record<string, object>>,
  required = Object.keys(properties),
): OutputSchema => ({
  type: 'object',
  properties,
  required,
})

export const inputOf = (
  properties: Readonly<Record<string, Property>>,
  required: readonly string[] = [],
): ReaderTool['inputSchema'] => ({ type: 'object', properties, required, additionalProperties: false })

/** What a call has to say beside its own fields, where the scope leaves it open. */
export const conversationFields = ({ session, agent }: Reach): Readonly<Record<string, Property>> => ({
  ...(session === undefined && { session: { type: 'string', description: 'The conversation, by its session name.' } }),
  ...(agent === undefined && {
    agent: { type: 'string', description: 'Which agent of it; needed where several work in one session.' },
  }),
})

export const requiredSession = ({ session }: Reach): readonly string[] => (session === undefined ? ['session'] : [])
