import { parsedJson, recordOf } from '../core/values.ts'
import { WIRES, type WireFormat } from './wires.ts'

/** Says which wire a request body speaks, or undefined when it is none of ours. */
export function detectFormat(body: unknown): WireFormat | undefined {
  const fields = recordOf(typeof body === 'string' ? parsedJson(body) : body)
  if (fields === undefined) return undefined
  let found: { readonly id: WireFormat; readonly sure: number } | undefined
  for (const id of Object.keys(WIRES) as WireFormat[]) {
    const sure = WIRES[id].resembles(fields)
    if (sure > (found?.sure ?? 0)) found = { id, sure }
  }
  return found?.id
}
