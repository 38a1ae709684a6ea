/**
 * How tight upper bounds are, and how well windows are used: recorded sessions go through `fetch` to a provider that counts with a public
 * vocabulary, refuses what is too long in its vendor's words, and reports usage or not.
 *
 *   npm run bench:bounds -- [--folders claude-code,codex-rollout,pi,openhands] [--windows 32000,64000] [--times 1,1.12,1.35]
 *                           [--usage reported,none] [--model gpt-4.1] [--files 3|9b,cd] [--each]
 *
 * `behind`: requests with a new compaction, `else`: all others; the provider's count of each request over our upper bound of it, median and 10th
 * percentile. `largest`: the largest prompt that the provider took, as a share of the limit: in all sessions, and the median of the sessions.
 * `over`: requests that the provider refused as too long; the most of them in one conversation; those that reached the client.
 */
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import type { PlimsollEvent } from '../src/core/events.ts'
import { changeEnvelope } from '../src/core/edits.ts'
import type { Item } from '../src/core/item.ts'
import type { Usage } from '../src/core/usage.ts'
import { codecs } from '../src/formats/registry.ts'
import { loadFile } from '../src/lab/transcripts/load.ts'
import type { Recording, Wire } from '../src/lab/transcripts/recording.ts'
import { createPlimsoll } from '../src/plimsoll.ts'
import { referenceProvider } from './lib/reference-provider.ts'
import { sharedData } from './lib/shared.ts'
import { quantile } from './lib/statistics.ts'
import { row, title } from './lib/table.ts'

const { values } = parseArgs({
  options: {
    folders: { type: 'string', default: 'claude-code,codex-rollout,pi,openhands' },
    windows: { type: 'string', default: '32000,64000' },
    times: { type: 'string', default: '1,1.12,1.35' },
    usage: { type: 'string', default: 'reported,none' },
    model: { type: 'string', default: 'gpt-4.1' },
    files: { type: 'string' },
    each: { type: 'boolean', default: false },
  },
})
const MOST_OUTPUT = 1_024

interface Answers {
  readonly url: string
  answer(usage: Usage | undefined): object
  refusal(input: number, window: number): object
}

const ANSWERS: Readonly<Partial<Record<Wire, Answers>>> = {
  'anthropic-messages': {
    url: 'https://api.anthropic.com/v1/messages',
    answer: (usage) => ({
      id: 'msg_1',
      type: 'message',
      role: 'assistant',
      content: [{ type: 'text', text: 'ok' }],
      stop_reason: 'end_turn',
      usage: usage && {
        input_tokens: usage.input - usage.cacheRead,
        cache_read_input_tokens: usage.cacheRead,
        output_tokens: usage.output,
      },
    }),
    refusal: (input, window) => ({
      type: 'error',
      error: { type: 'invalid_request_error', message: `prompt is too long: ${input} tokens > ${window} maximum` },
    }),
  },
  'openai-chat': {
    url: 'https://api.openai.com/v1/chat/completions',
    answer: (usage) => ({
      id: 'c',
      object: 'chat.completion',
      choices: [{ index: 0, message: { role: 'assistant', content: 'ok' }, finish_reason: 'stop' }],
      usage: usage && {
        prompt_tokens: usage.input,
        prompt_tokens_details: { cached_tokens: usage.cacheRead },
        completion_tokens: usage.output,
      },
    }),
    refusal: (input, window) => ({
      error: {
        message: `This model's maximum context length is ${window} tokens. However, your messages resulted in ${input} tokens. Please reduce the length of the messages.`,
        type: 'invalid_request_error',
        code: 'context_length_exceeded',
      },
    }),
  },
  'openai-responses': {
    url: 'https://api.openai.com/v1/responses',
    answer: (usage) => ({
      id: 'resp_1',
      object: 'response',
      status: 'completed',
      output: [{ type: 'message', id: 'm', role: 'assistant', content: [{ type: 'output_text', text: 'ok' }] }],
      usage: usage && {
        input_tokens: usage.input,
        input_tokens_details: { cached_tokens: usage.cacheRead },
        output_tokens: usage.output,
      },
    }),
    refusal: () => ({
      error: {
        message: 'Your input exceeds the context window of this model. Please adjust your input and try again.',
        type: 'invalid_request_error',
        code: 'context_length_exceeded',
      },
    }),
  },
}

interface Figures {
  readonly behind: number[]
  readonly elsewhere: number[]
  /** Of each session that was compacted. */
  readonly largest: number[]
  readonly refused: number[]
  compactions: number
  failed: number
}

interface Case {
  readonly window: number
  readonly times: number
  readonly reports: boolean
}

/** The recorded request, asking for our model and a short answer. */
function bodiesOf({ wire, calls }: Recording): (() => string)[] {
  const codec = codecs.get(wire)!
  return calls.map((call) => () => {
    const conversation = codec.decode(call.body())
    const { text } = codec.encode(changeEnvelope(conversation, { maxOutputTokens: MOST_OUTPUT }))
    const own: object = JSON.parse(text) as object
    return JSON.stringify({ ...own, model: values.model })
  })
}

/** Items at the front that both have: the provider's cache has those of the earlier request. */
function alike(before: readonly Item[], now: readonly Item[]): number {
  const end = now.findIndex(({ text }, at) => before[at]?.text !== text)
  return end < 0 ? now.length : end
}

async function play(recording: Recording, { window, times, reports }: Case, figures: Figures): Promise<void> {
  const codec = codecs.get(recording.wire)!
  const { url, answer, refusal } = ANSWERS[recording.wire]!
  const provider = await referenceProvider(times, true)
  const events: PlimsollEvent[] = []
  let [refused, largest, compactions] = [0, 0, 0]
  let call = recording.calls[0]!
  let view = codec.decode(call.body())
  const plimsoll = createPlimsoll({
    store: 'memory:',
    artifacts: 'memory:',
    models: { [values.model]: { window, inputLimit: undefined } },
    onEvent: (event) => events.push(event),
    // oxlint-disable-next-line typescript/require-await -- a transport is asynchronous
    fetch: async (_url, init) => {
      const before = view.items
      view = codec.decode(Buffer.from(init?.body as Uint8Array).toString(), view)
      const usage = provider.usageOf!(view, call.response)
      const { input } = usage
      const prepared = events.findLast(({ type }) => type === 'request-prepared')
      if (prepared?.type !== 'request-prepared') throw new Error('A request left that nothing had prepared.')
      const isNew = events.some(({ type }) => type === 'epoch-declared')
      if (isNew) compactions++
      ;(isNew ? figures.behind : figures.elsewhere).push(input / prepared.load)
      events.length = 0
      if (input + MOST_OUTPUT > window) {
        refused++
        return Response.json(refusal(input, window), { status: 400 })
      }
      largest = Math.max(largest, input / prepared.limit)
      const cacheRead = input - provider.count({ ...view, items: view.items.slice(alike(before, view.items)) })
      return Response.json(answer(reports ? { ...usage, cacheRead } : undefined))
    },
  })
  const headers = {
    'content-type': 'application/json',
    authorization: 'Bearer k',
    'x-api-key': 'k',
    'x-plimsoll-session': 's',
  }
  for (const [i, body] of bodiesOf(recording).entries()) {
    call = recording.calls[i]!
    const response = await plimsoll.fetch(url, { method: 'POST', headers, body: body() })
    await response.text()
    if (!response.ok) figures.failed++
  }
  await plimsoll.close()
  figures.refused.push(refused)
  figures.compactions += compactions
  if (compactions > 0) figures.largest.push(largest)
  if (values.each)
    console.log(
      `    ${recording.file.split('/').at(-1)}: ${recording.calls.length} calls, ${compactions} compactions, largest ${largest.toFixed(3)}, ${refused} refused`,
    )
}

function chosen(names: readonly string[]): readonly string[] {
  const { files } = values
  if (files === undefined) return names
  return /^\d$/.test(files)
    ? names.slice(0, Number(files))
    : names.filter((name) => files.split(',').some((part) => name.includes(part)))
}

async function load(data: string, folder: string): Promise<readonly Recording[]> {
  const path = join(data, 'transcripts', folder)
  const recordings: Recording[] = []
  for (const name of chosen(readdirSync(path).sort())) {
    const { recordings: found } = await loadFile(join(path, name), { resend: 'everything', thinking: 'drop' })
    recordings.push(...found.filter(({ calls, wire }) => calls.length > 0 && ANSWERS[wire] !== undefined))
  }
  return recordings
}

const data = sharedData()
if (data === undefined) throw new Error('Set PLIMSOLL_SHARED to the folder that holds data/transcripts.')
const two = (list: readonly number[]): string =>
  list.length === 0 ? '–' : `${quantile(list, 0.5).toFixed(3)} ${quantile(list, 0.1).toFixed(3)}`
for (const folder of values.folders.split(',')) {
  const recordings = await load(data, folder)
  title(
    `${folder}: ${recordings.length} sessions, ${recordings.reduce((sum, { calls }) => sum + calls.length, 0)} calls, ${values.model}`,
  )
  row('window, count, usage', ['behind', 'else', 'largest', 'compactions', 'over', 'failed'])
  for (const window of values.windows.split(',').map(Number))
    for (const times of values.times.split(',').map(Number))
      for (const usage of values.usage.split(',')) {
        const figures: Figures = { behind: [], elsewhere: [], largest: [], refused: [], compactions: 0, failed: 0 }
        for (const recording of recordings)
          await play(recording, { window, times, reports: usage === 'reported' }, figures)
        const { behind, elsewhere, largest, refused, compactions, failed } = figures
        row(`${window / 1000}k × ${times}, ${usage}`, [
          two(behind),
          two(elsewhere),
          largest.length === 0 ? '–' : `${Math.max(...largest).toFixed(3)} ${quantile(largest, 0.5).toFixed(3)}`,
          String(compactions),
          `${refused.reduce((sum, count) => sum + count, 0)} (${Math.max(0, ...refused)})`,
          String(failed),
        ])
      }
}
