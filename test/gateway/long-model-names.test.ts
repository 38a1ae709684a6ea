import { describe, expect, it } from 'vitest'
import { createPlimsoll } from '../../src/index.ts'
import { PLAIN_WIRES } from './plain-wires.ts'

/*
 * A client chooses the name of its model, and nothing keeps it from choosing four hundred thousand characters. Every pattern that reads a name
 * would read all of it, and every record would hold it.
 */
const CHARACTERS = 400_000
const NAMES = [
  'aiku-7claude',
  'claude-',
  'gpt-5',
  'gpt-4.1-',
  'gemini-',
  '@\n',
  'a-',
  'a/',
  '0',
  '.',
  ':',
  'ft:',
  '-v1',
  ' ',
  '\ud83d\ude00',
]
const MOST_STORED = 50_000
/** Before names were bounded it was six hundred; while their bytes still passed for prompt, some made it load a vocabulary. */
const MOST_RATIO = 3

const long = (unit: string): string => unit.repeat(Math.ceil(CHARACTERS / unit.length))

describe.each(Object.entries(PLAIN_WIRES))('a model name of %s without an end', (_wire, plain) => {
  async function ask(body: object): Promise<{ ms: number; sent: string; told: string }> {
    let sent = ''
    const told: string[] = []
    const plimsoll = createPlimsoll({
      store: 'memory:',
      artifacts: 'memory:',
      fetch: async (_input, init) => {
        sent = await new Response(init?.body as BodyInit).text()
        return Response.json(plain.answer('ok'))
      },
    })
    plimsoll.on((event) => told.push(JSON.stringify(event)))
    const startedAt = performance.now()
    const answer = await plimsoll.fetch(plain.url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...plain.key('k') },
      body: JSON.stringify(body),
    })
    expect(answer.status).toBe(200)
    await answer.text()
    const ms = performance.now() - startedAt
    await plimsoll.close()
    return { ms, sent, told: told.join('\n') }
  }

  it('goes through as it is, is not repeated in what is told, and takes no longer than a message of its length', async () => {
    const request = (text: string): object => plain.request([{ user: text }])
    await ask(request('warm'))
    const { ms: asMessage } = await ask(request(long('word ')))
    for (const unit of NAMES) {
      const body = { ...request('hi'), model: long(unit) }
      const { ms, sent, told } = await ask(body)
      expect((JSON.parse(sent) as { model: string }).model, unit).toBe(body.model)
      expect(told.length, unit).toBeLessThan(MOST_STORED)
      expect(ms / asMessage, unit).toBeLessThan(MOST_RATIO)
    }
  })
})
