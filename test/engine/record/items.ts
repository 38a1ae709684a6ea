import type { Item } from '../../../src/core/item.ts'

let n = 0
const next = (): { id: string; message: number } => ({ id: `i${++n}`, message: n })

export const user = (text: string): Item => ({ ...next(), kind: 'user', role: 'user', text })
export const said = (text: string): Item => ({ ...next(), kind: 'assistant', role: 'assistant', text })

/** A call and its result. */
export function step(toolName: string, input: object | string, result: string, isError = false): Item[] {
  const callId = `c${++n}`
  const text = typeof input === 'string' ? input : JSON.stringify(input)
  return [
    { ...next(), kind: 'call', role: 'assistant', text, callId, toolName },
    { ...next(), kind: 'result', role: 'tool', text: result, callId, toolName, ...(isError && { isError }) },
  ]
}
