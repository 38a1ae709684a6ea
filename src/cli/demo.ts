import { DEMO_FORMAT, DEMO_WIRE } from '../formats/registry.ts'
import { type Entry, writeChat } from '../formats/wire/chat.ts'
import type { Gateway } from '../gateway/gateway.ts'
import { startProxy } from '../gateway/proxy.ts'
import { call, say, type Script, startReferee } from '../testing/referee/index.ts'

/** The story of the demo: one incident, one engineer, sixty steps. All text is computed from the step's number, so every run shows the same bytes. */
const SYSTEM =
  'You are the on-call engineer of a web shop. Work with the tools, one step at a time, and report the cause when you know it.'

const TASK =
  'INC-4711: since 14:02 UTC one checkout in ten fails with "card declined", although the bank approved it. Find the cause. ' +
  'Do not restart anything and do not touch the payment database.'

interface Probe {
  readonly tool: string
  readonly why: string
  readonly output: (step: number) => string
}

const SERVICES = ['checkout', 'payments', 'ledger', 'inventory', 'gateway']

/** A repeatable pseudo-random number. */
const noise = (step: number, i: number): number => (step * 7_919 + i * 104_729 + 13) % 1_000_003

const clockAt = (step: number, i: number): string =>
  `2026-11-14T14:${String(step % 60).padStart(2, '0')}:${String(i % 60).padStart(2, '0')}.${String(noise(step, i) % 1000).padStart(3, '0')}Z`

function logLines(step: number, count: number): string {
  return Array.from({ length: count }, (_, i) => {
    const id = noise(step, i)
    const service = SERVICES[id % SERVICES.length]!
    const level = id % 13 === 0 ? 'ERROR' : id % 7 === 0 ? 'WARN ' : 'INFO '
    const what =
      id % 13 === 0
        ? `charge rejected: idempotency key ${id.toString(16)} seen twice`
        : `handled in ${id % 900} ms, pool ${id % 20}/20`
    return `${clockAt(step, i)} ${level} ${service}-${id % 4} order=${id} ${what}`
  }).join('\n')
}

const metrics = (step: number): string =>
  JSON.stringify({
    query: `rate(http_requests_total{service="${SERVICES[step % 5]}"}[5m])`,
    series: Array.from({ length: 24 }, (_, i) => ({
      at: clockAt(step, i),
      ok: noise(step, i) % 1200,
      failed: noise(step, i) % 120,
      p99: noise(step, i) % 4000,
    })),
  })

const pods = (step: number): string =>
  [
    'NAME                         READY  STATUS   RESTARTS  AGE   NODE',
    ...Array.from({ length: 22 }, (_, i) => {
      const id = noise(step, i)
      return `${`${SERVICES[i % 5]}-${id.toString(36)}`.padEnd(28)} 1/1    Running  ${id % 3}         ${id % 30}d   node-${id % 9}`
    }),
  ].join('\n')

const diff = (step: number): string =>
  [
    `commit ${noise(step, 1).toString(16).padStart(7, '0')}`,
    '--- a/payments/src/retry.ts',
    '+++ b/payments/src/retry.ts',
    ...Array.from({ length: 30 }, (_, i) =>
      i % 5 === 0
        ? `-  const key = order.id + ':' + attempt // ${noise(step, i)}`
        : i % 5 === 1
          ? `+  const key = order.id // ${noise(step, i)}`
          : `   await charge({ order: ${noise(step, i)}, amount: ${noise(step, i) % 9000} })`,
    ),
  ].join('\n')

const PROBES: readonly Probe[] = [
  { tool: 'search_logs', why: 'Look at what the services say about it.', output: (step) => logLines(step, 20) },
  { tool: 'query_metrics', why: 'Compare that with the rates.', output: metrics },
  { tool: 'list_pods', why: 'See where it runs.', output: pods },
  { tool: 'show_commit', why: 'Read what changed shortly before.', output: diff },
]

/** Steps whose result is larger than the whole window. */
const DUMPS = new Set([11, 37])

const probeOf = (step: number): Probe => PROBES[step % PROBES.length]!

/** The tools' output in a step. */
export function toolOutput(step: number): string {
  return DUMPS.has(step) ? logLines(step, 4_000) : probeOf(step).output(step)
}

const TOOLS = [...new Set(PROBES.map((probe) => probe.tool))].map((name) => ({
  name,
  description: `Runs ${name} for one step of the investigation.`,
  parameters: {
    type: 'object',
    properties: { step: { type: 'integer' }, service: { type: 'string' } },
    required: ['step'],
  },
}))

/** The demo model's script: one call per step, and the cause of the incident at the end. */
export const scriptOf =
  (turns: number): Script =>
  ({ number }) => {
    if (number >= turns) {
      return say(
        'Cause: payments/src/retry.ts builds its idempotency key without the attempt since 14:01, so a retried charge is refused as a duplicate. Revert that commit.',
      )
    }
    const { tool, why } = DUMPS.has(number) ? PROBES[0]! : probeOf(number)
    return call(tool, { step: number, service: SERVICES[number % 5]! }, why)
  }

/** One model call, as the agent sees it. */
export interface AgentTurn {
  readonly number: number
  readonly tool?: string
  readonly text: string
  /** The request as the agent wrote it: what would be sent without Plimsoll. */
  readonly body: string
  readonly headers: Headers
}

/** A plain agent: it sends its whole history with every call and does not manage the window. */
export async function* runAgent(baseUrl: string): AsyncGenerator<AgentTurn> {
  const { codec, endpoint, framing, routes } = DEMO_WIRE
  const model = endpoint.model!
  const entries: Entry[] = [{ type: 'user', text: TASK }]
  for (let number = 1; ; number++) {
    const body = writeChat(DEMO_WIRE, { model, maxOutputTokens: 1_024, system: SYSTEM, tools: TOOLS, entries })
    const response = await fetch(baseUrl + routes.path(model, true), {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...endpoint.headers('demo') },
      body,
    })
    if (!response.ok || response.body === null) throw new Error(`${response.status}: ${await response.text()}`)
    const parser = framing.parser()
    const reducer = codec.stream()
    for await (const chunk of response.body) parser.push(chunk).forEach((event) => reducer.push(event))
    const { items } = reducer.response()
    const text = items.find((item) => item.kind === 'assistant')?.text ?? ''
    const call = items.find((item) => item.kind === 'call')
    yield {
      number,
      text,
      body,
      headers: response.headers,
      tool: call?.toolName,
    }
    if (call === undefined) return
    const input = JSON.parse(call.text) as { step: number }
    const [id, name] = [call.callId ?? '', call.toolName ?? '']
    entries.push(
      { type: 'assistant', text, calls: [{ id, name, input }] },
      { type: 'result', callId: id, name, text: toolOutput(input.step), isError: false },
    )
  }
}

const TURNS = 60
const WINDOW = 32_000

/** Runs the demo's agent through a gateway, so that its session appears beside the others. Ends by itself. */
export async function runDemoSession(gateway: Gateway): Promise<void> {
  const referee = await startReferee({
    wire: DEMO_FORMAT,
    window: WINDOW,
    script: scriptOf(TURNS),
    cache: { minimumTokens: 1 },
  })
  const upstream = { url: referee.url, window: WINDOW }
  const proxy = await startProxy(gateway, { port: 0, upstreams: { [DEMO_WIRE.endpoint.name]: upstream } })
  try {
    const turns = runAgent(`${proxy.url}/${DEMO_WIRE.endpoint.name}`)
    // The agent runs until the model makes no more calls.
    while ((await turns.next()).done !== true);
  } finally {
    await proxy.close()
    await referee.close()
  }
}
