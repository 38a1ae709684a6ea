import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startPostgres, type PostgresServer } from './support/postgres-server.ts'
import { temporaryFolder } from './support/temporary.ts'
import { startWorker } from './support/worker-process.ts'

interface Said {
  readonly summarising?: true
  readonly text?: string
  readonly epoch?: string
}

/** A process that prepares one history under a policy that asks a model. */
function summarizer(url: string, session: string, name: string) {
  const { child, done, onLine } = startWorker(new URL('support/summary-worker.ts', import.meta.url), [
    url,
    session,
    name,
  ])
  const said: Said[] = []
  const listeners = new Set<() => void>()
  onLine((line) => {
    said.push(JSON.parse(line) as Said)
    for (const listener of listeners) listener()
  })
  const heard = (key: keyof Said): Promise<Said> =>
    Promise.race([
      new Promise<Said>((resolve) => {
        const look = (): void => {
          const found = said.find((line) => line[key] !== undefined)
          if (found !== undefined) resolve(found)
        }
        listeners.add(look)
        look()
      }),
      done.then(({ errors }) => {
        const found = said.find((line) => line[key] !== undefined)
        if (found === undefined) throw new Error(`The process ended without "${key}": ${errors}`)
        return found
      }),
    ])
  return {
    heard,
    tell: (line: 'go') => child.stdin.write(`${line}\n`),
    done,
  }
}

let postgres: PostgresServer
let place: Awaited<ReturnType<typeof temporaryFolder>>
beforeAll(async () => {
  postgres = await startPostgres()
  place = await temporaryFolder()
})
afterAll(async () => {
  await postgres.stop()
  await place.remove()
})

const stores = [
  { name: 'SQLite', url: (of: string) => `sqlite:${join(place.folder, `${of}.db`)}` },
  { name: 'Postgres', url: (of: string) => `${postgres.url}&schema=${of}` },
]

describe.each(stores)('two processes that summarise one history, on $name', ({ url }) => {
  it.each([
    { what: 'one session', of: 'shared', sessions: ['run', 'run'] },
    { what: 'two sessions with one prefix', of: 'apart', sessions: ['run', 'other'] },
  ])(
    'send one text, whichever was first: $what',
    async ({ of, sessions }) => {
      const first = summarizer(url(of), sessions[0]!, 'first')
      const second = summarizer(url(of), sessions[1]!, 'second')
      await Promise.all([first.heard('summarising'), second.heard('summarising')])
      second.tell('go')
      first.tell('go')
      const [one, two] = [await first.heard('text'), await second.heard('text')]
      expect(one.text).toMatch(/says (first|second)/)
      expect(two.text).toBe(one.text)
      expect(two.epoch).toBe(one.epoch)
      await Promise.all([first.done, second.done])
    },
    60_000,
  )
})
