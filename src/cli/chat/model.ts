import { setTimeout as pause } from 'node:timers/promises'
import type { Codec, ModelResponse } from '../../core/codec.ts'
import { PlimsollError } from '../../core/errors.ts'
import type { Fetch } from '../../gateway/fetch.ts'
import { parsedJson, recordOf, listOf, textOf } from '../../core/values.ts'
import { pathUnder, endpoints, speakers, type Endpoint } from '../../formats/endpoints.ts'
import type { ModelCall } from '../../ports/model-call.ts'
import { DEMO_WIRE, DEMO_FORMAT } from '../../formats/registry.ts'
import type { Wire } from '../../formats/registry.ts'
import {
  call,
  say,
  startReferee,
  type Answer,
  type BrainTurn,
  type RunningReferee,
} from '../../testing/referee/index.ts'
import type { Instructions } from '../../engine/instructions/index.ts'

interface Ask {
  readonly fetch: Fetch
  readonly provider: Provider
  readonly codec: Codec
  readonly body: string
  readonly headers: Readonly<Record<string, string>>
  readonly signal: AbortSignal
  readonly onText: (text: string) => void
  /** Called before a retry, and with the outcome when a request was too large. */
  readonly onNotice: (text: string) => void
}

export interface Answered {
  readonly response: ModelResponse
  /** The parts of the answer that the wire requires back unchanged. */
  readonly raw?: unknown
  /** The user stopped the answer; the response is what had arrived until then. */
  readonly stopped: boolean
}

const ATTEMPTS = 4
const FIRST_WAIT_MS = 1_000
const LONGEST_WAIT_MS = 30_000

/** Sends one request and reads its stream. Throttling and temporary errors are retried a few times. */
export async function askModel(ask: Ask): Promise<Answered> {
  for (let attempt = 1; ; attempt++) {
    const response = await send(ask)
    if (response.headers.get('x-plimsoll-verdict') === 'halt') throw await halted(ask, response)
    if (response.headers.get('x-plimsoll-recovered') !== null)
      ask.onNotice('The provider found the request too large; it is reduced and sent again.')
    if (response.ok) return readStream(ask, response)
    const text = await response.text()
    const passing = response.status === 429 || response.status >= 500
    if (!passing || response.headers.has('x-plimsoll-error') || attempt === ATTEMPTS)
      throw refused(response.status, text, ask.provider)
    const wait = waitOf(response.headers.get('retry-after'), attempt)
    ask.onNotice(`${ask.provider.name} answers ${response.status}; trying again in ${Math.round(wait / 1000)} s`)
    await pause(wait, undefined, { signal: ask.signal })
  }
}

/** The error of a request that the gateway answered itself because the session's budget is used up. */
async function halted(ask: Ask, response: Response): Promise<PlimsollError> {
  const { response: said } = await readStream({ ...ask, onText() {} }, response)
  const text = said.items.map((item) => item.text).join('')
  return new PlimsollError('budget-exceeded', `The budget of this session is used up: ${text}`, {
    advice: '/budget raises it.',
  })
}

/** One additional request to the same model, not shown to the user and not retried. */
export async function askOnce(provider: Provider, codec: Codec, call: ModelCall): Promise<ModelResponse> {
  const response = await send({ fetch: globalThis.fetch, provider, ...call })
  if (!response.ok) throw refused(response.status, await response.text(), provider)
  const answered = await readStream({ provider, codec, signal: call.signal, onText() {} }, response)
  if (answered.stopped) throw call.signal.reason
  return answered.response
}

async function send(ask: Pick<Ask, 'fetch' | 'provider' | 'body' | 'headers' | 'signal'>): Promise<Response> {
  const { provider, body, headers, signal } = ask
  const url = provider.baseUrl + pathUnder(provider.endpoint, provider.wire.routes.path(provider.model, true))
  try {
    return await ask.fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...provider.headers, ...headers },
      body,
      signal,
    })
  } catch (cause) {
    if (signal.aborted) throw cause
    const why = cause instanceof Error && cause.cause instanceof Error ? cause.cause.message : (cause as Error).message
    throw new PlimsollError('upstream', `${provider.baseUrl} cannot be reached: ${why}.`, {
      cause,
      advice: 'Check the address and the network; plimsoll doctor does both.',
    })
  }
}

/** When the user stops the answer, what has arrived is kept. */
async function readStream(
  { provider, codec, signal, onText }: Pick<Ask, 'provider' | 'codec' | 'signal' | 'onText'>,
  response: Response,
): Promise<Answered> {
  const { framing, answers } = provider.wire
  const parser = framing.parser()
  const reducer = codec.stream()
  const keeper = provider.wire.keeper?.()
  let stopped = false
  const take = (events: readonly { readonly data: string }[]): void => {
    for (const event of events) {
      reducer.push(event)
      const parsed = recordOf(parsedJson(event.data))
      if (parsed === undefined) continue
      keeper?.push(parsed)
      for (const { kind, text } of answers.pieces(parsed)) if (kind === 'text') onText(text)
    }
  }
  try {
    for await (const chunk of response.body ?? []) take(parser.push(chunk))
    take(parser.end())
  } catch (error) {
    if (!signal.aborted) throw cutOff(error)
    stopped = true
  }
  if (reducer.error !== undefined) throw refused(response.status, JSON.stringify(reducer.error), provider)
  return { response: reducer.response(), stopped, raw: keeper?.value() }
}

const cutOff = (cause: unknown): PlimsollError =>
  new PlimsollError('upstream', 'The connection broke in the middle of the answer.', {
    cause,
    retryable: true,
    advice: 'Say "go on", or ask again.',
  })

function refused(status: number, body: string, provider: Provider): PlimsollError {
  const said = /"message"\s*:\s*"((?:[^"\\]|\\.)*)"/.exec(body)?.[1]?.replaceAll(/\\(.)/g, '$1') ?? body.slice(0, 300)
  const advice =
    status === 401 || status === 403
      ? 'Check the key in the environment.'
      : status === 404
        ? `Check the model (${provider.model}) and the address (${provider.baseUrl}).`
        : status === 413
          ? 'Set the real window with --window, or choose a model with a larger one.'
          : undefined
  return new PlimsollError('upstream', `${provider.name} answers ${status}: ${said}`, {
    advice,
    fields: { status },
  })
}

function waitOf(retryAfter: string | null, attempt: number): number {
  const seconds = Number(retryAfter)
  const wait = retryAfter !== null && seconds > 0 ? seconds * 1000 : FIRST_WAIT_MS * 2 ** (attempt - 1)
  return Math.min(wait, LONGEST_WAIT_MS)
}

type Environment = Readonly<Record<string, string | undefined>>

export interface Provider {
  readonly name: string
  readonly wire: Wire
  readonly endpoint: Endpoint
  /** The paths of the wire are appended to it. */
  readonly baseUrl: string
  readonly headers: Readonly<Record<string, string>>
  readonly model: string
  /** The server's window, if it is known from elsewhere than the model's name. */
  readonly window?: number
}

const DEMO = 'demo'
const COMPATIBLE = 'compatible'

export const PROVIDERS: readonly string[] = [...speakers.map(({ endpoint }) => endpoint.name), DEMO]

interface ProviderChoice {
  readonly provider?: string
  readonly model?: string
  readonly baseUrl?: string
}

const set = (env: Environment, names: readonly string[]): string | undefined =>
  names.find((name) => (env[name] ?? '') !== '')

const hasKey = ({ keys }: Endpoint, env: Environment): boolean => set(env, keys) !== undefined

/** Without a given provider: the vendor of the model, else the first vendor with a key, else a local server, else the demo model. */
export function chooseProvider(wish: ProviderChoice, env: Environment): string {
  if (wish.provider !== undefined) return wish.provider
  if (wish.baseUrl !== undefined) return COMPATIBLE
  const { model } = wish
  const vendors = endpoints.filter((endpoint) => hasKey(endpoint, env))
  const owner = model === undefined ? undefined : vendors.find((endpoint) => endpoint.owns?.(model) === true)
  const local = speakers.find(
    ({ endpoint: { isLocal, keys, bases, modelVariable } }) =>
      isLocal && keys.length === 0 && set(env, [...bases, modelVariable]) !== undefined,
  )
  return (owner ?? vendors[0] ?? local?.endpoint)?.name ?? DEMO
}

/** Opens a provider from the environment. The demo server is started by the caller, who passes its address as `baseUrl`. */
export function openProvider(wish: ProviderChoice & { readonly provider: string }, env: Environment): Provider {
  const { provider, baseUrl } = wish
  if (provider === DEMO) {
    const { endpoint } = DEMO_WIRE
    const model = wish.model ?? endpoint.model!
    return { name: DEMO, wire: DEMO_WIRE, endpoint, baseUrl: baseUrl ?? '', headers: endpoint.headers(DEMO), model }
  }
  const found = speakers.find(({ endpoint }) => endpoint.name === provider)
  if (found === undefined) throw new PlimsollError('bad-config', `There is no provider called ${provider}.`)
  const { endpoint, wire } = found
  const model = [wish.model, env[endpoint.modelVariable], endpoint.model].find((name) => (name ?? '') !== '')
  if (model === undefined)
    throw new PlimsollError('bad-config', `No model is named for ${provider}.`, { advice: 'Add --model.' })
  const variable = set(env, endpoint.keys)
  if (variable === undefined && !endpoint.isLocal) throw noKey(endpoint)
  const base = env[set(env, endpoint.bases) ?? '']
  return {
    name: provider,
    wire,
    endpoint,
    baseUrl: trimmed(endpoint.base?.(env, baseUrl) ?? baseUrl ?? base ?? endpoint.url + endpoint.sdkPath),
    headers: endpoint.headers(env[variable ?? ''], variable),
    model,
    window: endpoint.window?.(env),
  }
}

const trimmed = (url: string): string => url.replace(/\/+$/, '')

const noKey = ({ name, keys }: Endpoint): PlimsollError =>
  new PlimsollError('bad-config', `There is no key for ${name}.`, {
    advice: `Set ${keys.join(' or ')}, or try plimsoll chat --provider demo, which needs none.`,
  })

/** Slows the demo's stream down on a terminal, so that it looks like one; output to a pipe is not delayed. */
const PACE_MS = 20

/** A scripted model behind a referee: it speaks the real wire, refuses what the vendor refuses, and needs no key. */
export function startDemoModel(window: number, watched: boolean): Promise<RunningReferee> {
  return startReferee({
    wire: DEMO_FORMAT,
    window,
    script: demoAnswer,
    cache: { minimumTokens: 1 },
    pace: watched ? () => pause(PACE_MS) : undefined,
  })
}

/** The variables that enable a real model. */
const WANTED = endpoints.map(({ keys, modelVariable }) => keys[0] ?? modelVariable)

const HELP = `This is the demo model: it needs no key and understands a few words. Try "read package.json", "list", "search TODO", "run git status", "write notes.txt", "count", "recall timeout", or /help. Set one of ${WANTED.join(', ')} to talk to a real one.`

/** Answers the newest message: some words lead to tool calls, tool results to a sentence. */
function demoAnswer({ body, tools }: Pick<BrainTurn, 'body' | 'tools'>): Answer {
  const newest = listOf(recordOf(listOf(body['messages']).at(-1))?.['content']).flatMap((block) => {
    const fields = recordOf(block)
    return fields === undefined ? [] : [fields]
  })
  const results = newest.filter((block) => block['type'] === 'tool_result')
  if (results.length > 0) return say(results.map(({ content }) => describeResult(textOf(content))).join(' '))
  const asked = textOf(newest.at(-1)?.['text']).trim()
  if (asked.startsWith(SUMMARY_ASKED)) return say(demoSummary(body))
  const [word = '', ...rest] = asked.split(/\s+/)
  const about = rest.join(' ')
  const found = COMMANDS[word.toLowerCase()]?.(about)
  if (found === undefined) return say(HELP)
  return found.parts.every((part) => part.type !== 'call' || tools.includes(part.name)) ? found : say(HELP)
}

/** The phrase by which an in-band request for a summary is recognised. */
const SUMMARY_ASKED = 'Stop working for one answer'

/** A summary for the demo: the newest user messages. */
function demoSummary(body: BrainTurn['body']): string {
  const asked = listOf(body['messages']).flatMap((message) => {
    const { role, content } = recordOf(message) ?? {}
    const blocks = listOf(content).map((block) => textOf(recordOf(block)?.['text']))
    return role === 'user' ? blocks.filter((text) => text !== '' && text.length < 100) : []
  })
  return `The user tried the demo model and asked: ${asked.slice(-10).join('; ')}.`
}

const COMMANDS: Readonly<Record<string, (about: string) => Answer>> = {
  read: (path) => call('read_file', { path }, `I will read ${path}.`),
  list: (path) => call('list_files', path === '' ? {} : { path }),
  search: (pattern) => call('search_files', { pattern }),
  run: (command) => call('run_shell', { command }),
  write: (path) => call('edit_file', { path, old: '', new: 'Written by the demo model.\n' }),
  recall: (query) => call('recall', { query }),
  count: (to) => say(Array.from({ length: Number(to) > 0 ? Number(to) : 300 }, (_, i) => `${i + 1}`).join(' ')),
  echo: (text) => say(text),
}

function describeResult(result: string): string {
  const lines = result.split('\n')
  return `The result has ${lines.length} line${lines.length === 1 ? '' : 's'} and begins with: ${lines[0]!.slice(0, 100)}`
}

/** Does not change during a session: a changed prompt would lose the provider's cache. */
export function systemPrompt(cwd: string, { merged, sources }: Pick<Instructions, 'merged' | 'sources'>): string {
  return [
    `You are a coding agent in a terminal. The working folder is ${cwd}.`,
    'Use the tools to look before you answer, and say briefly what you did. Results that were too long are shown as a preview with a handle: read more of them with the artifact tools. recall searches what is no longer in view.',
    ...(merged === '' ? [] : [`Instructions of the user and the project (${sources.join(', ')}):\n\n${merged.trim()}`]),
  ].join('\n\n')
}
