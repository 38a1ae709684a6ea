import type { Fields } from '../kit/pieces.ts'
import { recordOf, stringOf } from '../../core/values.ts'
import { arrayOf } from '../kit/reading.ts'
import { valueAt } from './source.ts'

const STEP = /\.([^.[\]]+)|\['([^']*)'\]|\[(\d+)\]/g

/** Adds streamed pieces of a call's arguments: each names its place (`$.a.b[0]`) and brings a value or more of a string. */
export function addPartialArgs(args: Fields, partials: unknown): void {
  for (const value of arrayOf(partials) ?? []) {
    const partial = recordOf(value) ?? {}
    const path = stringOf(valueAt(partial, 'jsonPath')) ?? ''
    const steps = [...path.matchAll(STEP)].map((step) =>
      step[3] === undefined ? (step[1] ?? step[2]!) : Number(step[3]),
    )
    const last = steps.pop()
    if (last === undefined || [...steps, last].some(isOutside)) continue
    const holder = holderAt(args, steps, typeof last === 'number')
    if (holder === undefined) continue
    const before = holder[last]
    const piece = pieceOf(partial)
    holder[last] = typeof before === 'string' && typeof piece === 'string' ? before + piece : piece
  }
}

/** A place in the prototype is no place in the arguments, and no tool takes a list of millions. */
const isOutside = (step: string | number): boolean =>
  step === '__proto__' || (typeof step === 'number' && step > 10_000)

/** Walks down to the object that shall take the value, making what is missing. */
function holderAt(args: Fields, steps: readonly (string | number)[], endsInList: boolean): Fields | undefined {
  let at: Fields = args
  for (const [i, step] of steps.entries()) {
    const wantsList = i + 1 < steps.length ? typeof steps[i + 1] === 'number' : endsInList
    at[step] ??= wantsList ? [] : {}
    const next = at[step]
    if (typeof next !== 'object' || next === null) return undefined
    at = next as Fields
  }
  return at
}

function pieceOf(partial: Readonly<Fields>): unknown {
  for (const key of ['stringValue', 'numberValue', 'boolValue']) {
    const value = valueAt(partial, key)
    if (value !== undefined) return value
  }
  return null
}
