import { cpSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { runTurns, type SentTurn } from './restart/long-session.ts'
import { withFolder } from '../stores/support/temporary.ts'
import { startWorker } from '../stores/support/worker-process.ts'

const TURNS = 1_000
const MORE = 60

it(`a session of ${TURNS} turns, reopened in a fresh process, goes on with the same bytes`, async () => {
  await withFolder(async (folder) => {
    const copy = join(folder, 'copy')
    // This process goes on with everything in its memory; the other has only what the store held after the last turn.
    const here = await runTurns(`sqlite:${join(folder, 'store', 'store.db')}`, 1, TURNS + MORE, (turn) => {
      if (turn === TURNS) cpSync(join(folder, 'store'), copy, { recursive: true })
    })
    const worker = startWorker(new URL('restart/worker.ts', import.meta.url), [
      `sqlite:${join(copy, 'store.db')}`,
      String(TURNS + 1),
      String(TURNS + MORE),
    ])
    let said = '[]'
    worker.onLine((line) => (said = line))
    const { code, errors } = await worker.done
    expect({ code, errors: code === 0 ? '' : errors }).toEqual({ code: 0, errors: '' })
    const after = here.slice(-MORE)
    expect(JSON.parse(said) as SentTurn[]).toEqual(after)
    // Not only what stood already: epochs were declared on both sides of the restart.
    expect(new Set(after.map(({ epoch }) => epoch)).size).toBeGreaterThan(1)
  })
}, 240_000)
