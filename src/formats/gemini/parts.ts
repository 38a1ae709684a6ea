import { type Fields, isRecord, recordsIn } from '../../core/values.ts'

const DATA_FIELDS = [
  ['text'],
  ['inlineData', 'inline_data'],
  ['fileData', 'file_data'],
  ['functionCall', 'function_call'],
  ['functionResponse', 'function_response'],
  ['executableCode', 'executable_code'],
  ['codeExecutionResult', 'code_execution_result'],
  ['toolCall', 'tool_call'],
  ['toolResponse', 'tool_response'],
] as const

/** Reads a field in either spelling: the wire is protobuf JSON and takes both. */
export function fieldOf(holder: Fields, camel: string, snake: string): unknown {
  return holder[camel] === undefined ? holder[snake] : holder[camel]
}

export const callOf = (part: Fields): Fields | undefined => objectOf(fieldOf(part, 'functionCall', 'function_call'))

export const responseOf = (part: Fields): Fields | undefined =>
  objectOf(fieldOf(part, 'functionResponse', 'function_response'))

export const signatureOf = (part: Fields): string => {
  const signature = fieldOf(part, 'thoughtSignature', 'thought_signature')
  return typeof signature === 'string' ? signature : ''
}

const objectOf = (value: unknown): Fields | undefined => (isRecord(value) ? value : undefined)

export const partsOf = (content: Fields): readonly Fields[] => recordsIn(content.parts)

/** How many kinds of data a part holds; one is right. */
export const dataCount = (part: Fields): number =>
  DATA_FIELDS.filter((names) => names.some((name) => part[name] !== undefined && part[name] !== null)).length
