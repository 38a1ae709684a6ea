import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { createPlimsoll } from '../../src/index.ts'

/*
 * The corpus of `planted-secrets.test.ts` stands in the fields that people think of. Here a token stands in each string of a request that uses
 * every field of its wire, one after the other: names, ids, kinds, fields that nobody knows.
 */
const URLS = {
  'openai-chat': 'https://api.openai.com/v1/chat/completions',
  'openai-responses': 'https://api.openai.com/v1/responses',
  'anthropic-messages': 'https://api.anthropic.com/v1/messages',
  gemini: 'https://generativelanguage.googleapis.com/v1beta/models/gemini-2.5-pro:generateContent',
  'ollama-chat': 'http://localhost:11434/api/chat',
}

const OLLAMA = {
  model: 'llama3.1',
  messages: [
    { role: 'system', content: 's' },
    { role: 'user', content: 'hi', images: ['AAAA'], name: 'ann' },
    {
      role: 'assistant',
      content: 'x',
      thinking: 't',
      tool_calls: [{ id: 'q', function: { name: 'bash', arguments: { a: 'b' } } }],
    },
    { role: 'tool', content: 'out', tool_name: 'bash', tool_call_id: 'q' },
    { role: 'user', content: 'go' },
  ],
  tools: [{ type: 'function', function: { name: 'bash', description: 'd', parameters: { type: 'object' } } }],
  format: 'json',
  keep_alive: '5m',
}

type Path = readonly string[]

function* leavesOf(value: unknown, path: Path = []): Generator<Path> {
  if (typeof value === 'string') yield path
  else if (typeof value === 'object' && value !== null)
    for (const [key, child] of Object.entries(value)) yield* leavesOf(child, [...path, key])
}

function withText(value: unknown, [key, ...rest]: Path, text: string): unknown {
  if (key === undefined) return text
  const copy = (Array.isArray(value) ? [...value] : { ...(value as object) }) as Record<string, unknown>
  copy[key] = withText(copy[key], rest, text)
  return copy
}

const ALPHABET = 'abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ'
const tokenOf = (n: number): string =>
  `ghp_${Array.from({ length: 36 }, (_, i) => ALPHABET[(n * 37 + i * i * 11 + i * (n % 23) + 5) % ALPHABET.length]).join('')}`

const readAll = (folder: string): string =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => readFileSync(join(entry.parentPath, entry.name), 'latin1'))
    .join('\n')

it.each(Object.entries(URLS))(
  'a token in any string of a request is in no byte that is stored: %s',
  async (wire, url) => {
    const folder = mkdtempSync(join(tmpdir(), 'plimsoll-leaves-'))
    const body: unknown =
      wire === 'ollama-chat'
        ? OLLAMA
        : JSON.parse(
            readFileSync(join(import.meta.dirname, `../fixtures/wire/${wire}/everything.request.json`), 'utf8'),
          )
    const leaves = [...leavesOf(body)]
    const sent: string[] = []
    try {
      const plimsoll = createPlimsoll({
        store: `sqlite:${join(folder, 'p.db')}`,
        artifacts: `file:${join(folder, 'artifacts')}`,
        redact: true,
        fetch: async (_input, init) => {
          sent.push(await new Response(init?.body as BodyInit).text())
          return Response.json({ error: { message: 'no' } }, { status: 400 })
        },
      })
      for (const [n, leaf] of leaves.entries()) {
        const answer = await plimsoll.fetch(url, {
          method: 'POST',
          headers: { 'content-type': 'application/json', authorization: 'Bearer k', 'x-plimsoll-session': `s${n}` },
          body: JSON.stringify(withText(body, leaf, `a ${tokenOf(n)} b`)),
        })
        await answer.text()
      }
      await plimsoll.close()
      const bytes = readAll(folder)
      expect(leaves.flatMap((leaf, n) => (bytes.includes(tokenOf(n)) ? [leaf.join('.')] : []))).toEqual([])
      // The client's own words reach the model as they are.
      expect(leaves.every((_leaf, n) => sent.some((text) => text.includes(tokenOf(n))))).toBe(true)
    } finally {
      rmSync(folder, { recursive: true, force: true })
    }
  },
  120_000,
)
