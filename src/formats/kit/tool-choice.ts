import { type Fields, recordOf, stringOf } from '../../core/values.ts'
import { arrayOf } from './reading.ts'

/** Which tools the model may or must call, in words that every wire has. */
export interface ToolChoice {
  readonly mode: 'auto' | 'none' | 'required'
  /** The one tool that must be called. */
  readonly name?: string
  /** At most one call at a time. */
  readonly single?: true
}

const MODES: Readonly<Record<string, ToolChoice['mode']>> = {
  auto: 'auto',
  none: 'none',
  required: 'required',
  any: 'required',
  validated: 'auto',
}

/** Reads the choice of whatever wire; undefined when the body makes none. */
export function readToolChoice(request: Fields): ToolChoice | undefined {
  const choice = request['tool_choice']
  const config = recordOf(request['toolConfig'] ?? request['tool_config'])
  const calling = recordOf(config?.['functionCallingConfig'] ?? config?.['function_calling_config'])
  const fields = recordOf(choice)
  const mode =
    MODES[(stringOf(choice) ?? stringOf(fields?.['type']) ?? stringOf(calling?.['mode']) ?? '').toLowerCase()]
  const allowed = arrayOf(calling?.['allowedFunctionNames'] ?? calling?.['allowed_function_names'])
  const name =
    stringOf(recordOf(fields?.['function'])?.['name']) ??
    stringOf(fields?.['name']) ??
    (allowed?.length === 1 ? stringOf(allowed[0]) : undefined)
  const single = fields?.['disable_parallel_tool_use'] === true || request['parallel_tool_calls'] === false
  if (mode === undefined && name === undefined && !single) return undefined
  return {
    mode: name === undefined ? (mode ?? 'auto') : 'required',
    ...(name !== undefined && { name }),
    ...(single && { single: true as const }),
  }
}

export const anthropicChoice = ({ mode, name, single }: ToolChoice): Fields => ({
  ...(name === undefined ? { type: mode === 'required' ? 'any' : mode } : { type: 'tool', name }),
  ...(single === true && mode !== 'none' && { disable_parallel_tool_use: true }),
})

export const chatChoice = ({ mode, name }: ToolChoice): unknown =>
  name === undefined ? mode : { type: 'function', function: { name } }

export const responsesChoice = ({ mode, name }: ToolChoice): unknown =>
  name === undefined ? mode : { type: 'function', name }

export const geminiChoice = ({ mode, name }: ToolChoice): Fields => ({
  functionCallingConfig: {
    mode: mode === 'required' ? 'ANY' : mode.toUpperCase(),
    ...(name !== undefined && { allowedFunctionNames: [name] }),
  },
})
