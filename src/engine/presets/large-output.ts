import type { GuardRule } from '../../core/policy.ts'
import { byteLength, countLines } from '../intake/text.ts'
import { isRecord } from '../../core/values.ts'

/** When a result is large. Every limit that is set counts; above any of them is large. */
export type IntakeTrigger = Pick<GuardRule, 'items' | 'chars' | 'bytes' | 'lines'>

/** Whether an output is large, and by which limit. Text that is JSON counts its items. */
export function triggeredBy(output: string, trigger: IntakeTrigger): keyof IntakeTrigger | undefined {
  if (trigger.chars !== undefined && output.length > trigger.chars) return 'chars'
  if (trigger.bytes !== undefined && byteLength(output) > trigger.bytes) return 'bytes'
  if (trigger.lines !== undefined && countLines(output) > trigger.lines) return 'lines'
  return trigger.items !== undefined && itemsIn(output) > trigger.items ? 'items' : undefined
}

function itemsIn(output: string): number {
  if (!/^\s*[[{]/.test(output)) return 0
  try {
    return itemCount(JSON.parse(output))
  } catch {
    return 0
  }
}

/** Length of a list, keys of an object, none for text. */
export const itemCount = (value: unknown): number =>
  Array.isArray(value) ? value.length : isRecord(value) ? Object.keys(value).length : 0
