import type { JsonObject } from '../kit/rule-kit.ts'
import { isObject, objectsOf } from '../kit/rule-kit.ts'

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
export function fieldOf(holder: JsonObject, camel: string, snake: string): unknown {
  return holder[camel] === undefined ? holder[snake] : holder[camel]
}

export const callOf = (part: JsonObject): JsonObject | undefined =>
  objectOf(fieldOf(part, 'functionCall', 'function_call'))

export const responseOf = (part: JsonObject): JsonObject | undefined =>
  objectOf(fieldOf(part, 'functionResponse', 'function_response'))

export const signatureOf = (part: JsonObject): string => {
  const signature = fieldOf(part, 'thoughtSignature', 'thought_signature')
  return typeof signature === 'string' ? signature : ''
}

const objectOf = (value: unknown): JsonObject | undefined => (isObject(value) ? value : undefined)

export const partsOf = (content: JsonObject): readonly JsonObject[] => objectsOf(content.parts)

/** How many kinds of data a part holds; one is right. */
export const dataCount = (part: JsonObject): number =>
  DATA_FIELDS.filter((names) => names.some((name) => part[name] !== undefined && part[name] !== null)).length
