import { describe, expect, it } from 'vitest'
import type { WireName } from '../support/generators/index.ts'
import { differenceTo, readGoldens } from './golden.ts'
import { modesOf, play, PRESETS, type Session } from './play.ts'

const SESSIONS: readonly Session[] = ['agent', 'forms']

/** What left for a provider leaves again, byte for byte. A difference that is wanted: `npm run goldens:write`, and say why in the commit. */
export function describeGoldens(wire: WireName): void {
  describe.each(PRESETS)(`goldens of ${wire} under %s`, (preset) => {
    describe.each(SESSIONS)('%s', (session) => {
      it.each(modesOf(session, preset))('%s', async (mode) => {
        expect(differenceTo(wire, `${preset} ${session}`, await play(session, wire, preset, mode))).toBeUndefined()
      })
    })
  })

  it(`the goldens of ${wire} hold what can go wrong`, () => {
    const lines = Object.values(readGoldens(wire)).flat()
    const epochs = new Set(lines.flatMap((line) => /epoch (ep_\w+)/.exec(line)?.slice(1) ?? []))
    expect(epochs.size).toBeGreaterThan(20)
    expect(lines.some((line) => line.includes('verdict final'))).toBe(true)
    // A request behind a request: a step that the client never saw.
    expect(
      lines.filter((line, i) => line.startsWith('→ POST') && lines[i + 1]?.startsWith('→ POST')).length,
    ).toBeGreaterThan(10)
    expect(lines.filter((line) => line.startsWith('→ prompt')).length).toBeGreaterThan(5)
    expect(lines.filter((line) => /saved [1-9]/.test(line)).length).toBeGreaterThan(100)
  })
}
