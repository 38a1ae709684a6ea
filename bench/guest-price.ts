/**
 * What a session that never comes near its limit costs behind the gateway, beside what it costs without it: the recorded requests are
 * sent through `fetch`, and what reaches the upstream is priced call by call under the provider's cache rules. Beside it, for the decision
 * in docs/decisions: one compact tool, or all of ours, declared from the first request on whatever the request is.
 *
 *   npx tsx bench/guest-price.ts [--folders tau-bench,openai-chat,swe-agent,openhands] [--models gpt-4o,claude-sonnet-4-5] [--each]
 *
 * Fails when a session costs more than 1.02 times what it costs without us.
 */
import { existsSync, readdirSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import type { Codec } from '../src/core/codec.ts'
import type { Conversation, NewTool } from '../src/core/conversation.ts'
import { changeEnvelope } from '../src/core/edits.ts'
import { createPlimsoll } from '../src/plimsoll.ts'
import { bundledCatalogue } from '../src/drivers/catalogue/bundled.ts'
import { readerTools } from '../src/engine/readers/reader-tools.ts'
import { conversationView, SessionPricer } from '../src/lab/replay/price.ts'
import { codecs } from '../src/formats/registry.ts'
import { loadFile } from '../src/lab/transcripts/load.ts'
import type { Recording } from '../src/lab/transcripts/recording.ts'
import { createMeter } from '../src/meter/index.ts'

const { values } = parseArgs({
  options: {
    folders: { type: 'string', default: 'tau-bench,openai-chat,swe-agent,openhands' },
    models: { type: 'string', default: 'gpt-4o,claude-sonnet-4-5' },
    each: { type: 'boolean', default: false },
  },
})
const shared = process.env['PLIMSOLL_SHARED'] ?? resolve(import.meta.dirname, '../../shared')
const MOST = 1.02

const catalogue = bundledCatalogue()
const meter = createMeter({ catalogue })
const COMPACT = readerTools(['recall'])
const ALL = readerTools(['recall', 'artifact_query', 'artifact_run'])

const PATHS: Readonly<Record<string, string>> = {
  'anthropic-messages': 'https://api.anthropic.com/v1/messages',
  'openai-chat': 'https://api.openai.com/v1/chat/completions',
  'openai-responses': 'https://api.openai.com/v1/responses',
}

/** Recordings without declarations get those of the tools that they call: an agent without tools would get none of ours. */
function withTools(codec: Codec, text: string, called: readonly NewTool[], model: string): string {
  const conversation = codec.decode(text)
  const own = conversation.tools.length > 0 ? conversation : changeEnvelope(conversation, { addTools: called })
  const body = JSON.parse(codec.encode(own).text) as object
  return JSON.stringify({ ...body, model })
}

function toolsOf(codec: Codec, recording: Recording): readonly NewTool[] {
  const names = new Set<string>()
  for (const { toolName } of codec.decode(recording.calls.at(-1)!.body()).items)
    if (toolName !== undefined) names.add(toolName)
  const parameters = { type: 'object', properties: { input: { type: 'string', description: 'What to do' } } }
  return [...(names.size === 0 ? ['bash'] : names)].map((name) => ({
    name,
    description: `Runs ${name} with the given input and gives back what it wrote.`,
    parameters,
  }))
}

function priceOf(codec: Codec, model: string, bodies: readonly string[]): number {
  const pricer = new SessionPricer(catalogue.resolve(model).info.price!)
  const countText = (text: string): number => meter.countText(model, text).tokens
  const known = new Map<string, number>()
  const tokensOf = (item: Conversation['items'][number]): number => {
    const found = known.get(item.text) ?? meter.countItem(model, item).tokens
    known.set(item.text, found)
    return found
  }
  for (const body of bodies) {
    const { pieces } = conversationView(codec.decode(body), tokensOf, countText)
    pricer.add({ pieces, outputTokens: 0 })
  }
  return pricer.total().costUsd
}

async function throughGateway(codec: Codec, bodies: readonly string[]): Promise<string[]> {
  const sent: string[] = []
  const plimsoll = createPlimsoll({
    store: 'memory:',
    artifacts: 'memory:',
    fetch: async (_input, init) => {
      sent.push(Buffer.from(init?.body as Uint8Array).toString())
      return Response.json({})
    },
  })
  for (const body of bodies) {
    const headers = {
      'content-type': 'application/json',
      authorization: 'Bearer k',
      'x-api-key': 'k',
      'anthropic-version': '2023-06-01',
    }
    await (await plimsoll.fetch(PATHS[codec.format]!, { method: 'POST', headers, body })).text()
  }
  await plimsoll.close()
  return sent
}

const added = (codec: Codec, bodies: readonly string[], tools: readonly NewTool[]): string[] =>
  bodies.map((body) => codec.encode(changeEnvelope(codec.decode(body), { addTools: tools })).text)

let tooDear = 0
for (const folder of values.folders.split(',')) {
  const path = join(shared, 'data/transcripts', folder)
  if (!existsSync(path))
    throw new Error(`${path} is absent. Set PLIMSOLL_SHARED to the folder that holds data/transcripts.`)
  for (const model of values.models.split(',')) {
    const ratios = { shipped: [] as number[], compact: [] as number[], all: [] as number[] }
    const sums = { without: 0, shipped: 0 }
    let calls = 0
    for (const name of readdirSync(path).sort()) {
      if (name.endsWith('.yaml')) continue
      const { recordings } = await loadFile(join(path, name), {
        resend: 'everything',
        thinking: 'drop',
        parallel: 'merged',
      })
      for (const recording of recordings) {
        const codec = codecs.get(recording.wire)!
        const called = toolsOf(codec, recording)
        const bodies = recording.calls.map((call) => withTools(codec, call.body(), called, model))
        const without = priceOf(codec, model, bodies)
        const shipped = priceOf(codec, model, await throughGateway(codec, bodies))
        const ratio = shipped / without
        ratios.shipped.push(ratio)
        ratios.compact.push(priceOf(codec, model, added(codec, bodies, COMPACT)) / without)
        ratios.all.push(priceOf(codec, model, added(codec, bodies, ALL)) / without)
        sums.without += without
        sums.shipped += shipped
        calls += bodies.length
        if (ratio > MOST) tooDear++
        if (values.each || ratio > MOST)
          console.info(
            `  ${name}${recording.name === undefined ? '' : `#${recording.name}`}: ${bodies.length} calls, ratio ${ratio.toFixed(4)}`,
          )
      }
    }
    const range = (list: readonly number[]): string => `${Math.min(...list).toFixed(3)}–${Math.max(...list).toFixed(3)}`
    console.info(
      `${folder}, ${model}: ${ratios.shipped.length} sessions, ${calls} calls, $${sums.shipped.toFixed(4)} of $${sums.without.toFixed(4)}; ratio ${range(ratios.shipped)}` +
        ` (compact from the start ${range(ratios.compact)}, all of ours ${range(ratios.all)})`,
    )
  }
}
if (tooDear > 0) {
  console.error(`${tooDear} sessions cost more than ${MOST} times what they cost without us.`)
  process.exitCode = 1
}
