import { AwsV4Signer } from 'aws4fetch'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { claudeOnBedrock, wire as converse } from '../../src/formats/bedrock-converse/wire.ts'
import { call, calls, say, type Script } from '../../src/testing/referee/index.ts'
import { stage, toolOutput, WAYS, type Stage, type Way } from '../sdks/ways.ts'

const MODEL = 'us.anthropic.claude-sonnet-4-6-v1:0'
const OWN = { accessKeyId: 'AKIAOWN', secretAccessKey: 'own/secret+key' }
const TOOL = { type: 'object', properties: { step: { type: 'number' } } }
const HISTORY = 40

/** The two wires of Bedrock: Converse, and Claude's own bodies by InvokeModel. */
const FORMS = {
  converse: { wire: converse, profile: undefined, methods: ['converse', 'converse-stream'] },
  invoke: { wire: claudeOnBedrock, profile: 'invoke-model', methods: ['invoke', 'invoke-with-response-stream'] },
} as const
type Form = keyof typeof FORMS

const FORM_NAMES = Object.keys(FORMS) as Form[]
const CASES = WAYS.flatMap((way) =>
  FORM_NAMES.flatMap((form) => [false, true].map((stream) => ({ way, form, stream }))),
)

afterEach(() => void vi.unstubAllEnvs())

/** A provider of 16k behind one of the ways in, which knows one key of each kind. */
function open(way: Way, form: Form, script: Script, more: object = {}): Promise<Stage> {
  vi.stubEnv('AWS_ACCESS_KEY_ID', OWN.accessKeyId)
  vi.stubEnv('AWS_SECRET_ACCESS_KEY', OWN.secretAccessKey)
  vi.stubEnv('AWS_PROFILE', '')
  vi.stubEnv('AWS_BEARER_TOKEN_BEDROCK', '')
  return stage(way, {
    prefix: 'bedrock',
    referee: {
      wire: FORMS[form].wire.id as 'bedrock-converse',
      profile: FORMS[form].profile,
      window: 16_000,
      apiKey: 'ABSK',
      accessKeys: { [OWN.accessKeyId]: OWN.secretAccessKey },
      chunkBytes: 700,
      script,
      ...more,
    },
  })
}

const pathOf = (form: Form, stream: boolean): string =>
  `/model/${encodeURIComponent(MODEL)}/${FORMS[form].methods[stream ? 1 : 0]}`

type Body = Record<string, unknown>

function bodyOf(form: Form, messages: readonly object[]): string {
  const rest: Body =
    form === 'converse'
      ? {
          inferenceConfig: { maxTokens: 500 },
          toolConfig: { tools: [{ toolSpec: { name: 'read_log', inputSchema: { json: TOOL } } }] },
        }
      : { anthropic_version: 'bedrock-2023-05-31', max_tokens: 500, tools: [{ name: 'read_log', input_schema: TOOL }] }
  return JSON.stringify({ ...rest, messages })
}

const user = (form: Form, text: string): object => ({ role: 'user', content: form === 'converse' ? [{ text }] : text })

/** Signs as a client does that has credentials and knows no proxy. */
async function sign(url: string, body: string, keys = OWN): Promise<Record<string, string>> {
  const signer = new AwsV4Signer({ ...keys, url, method: 'POST', body, service: 'bedrock', region: 'eu-west-1' })
  return Object.fromEntries((await signer.sign()).headers)
}

interface Sending {
  readonly form: Form
  readonly stream?: boolean
  readonly messages: readonly object[]
  readonly headers?: (url: string, body: string) => Promise<Record<string, string>>
}

async function send(on: Stage, { form, stream = false, messages, headers = sign }: Sending) {
  const body = bodyOf(form, messages)
  const path = pathOf(form, stream)
  const response = await on.call(path, { method: 'POST', body, headers: await headers(on.base + path, body) })
  const bytes = new Uint8Array(await response.arrayBuffer())
  const { codec, framing } = FORMS[form].wire
  if (!framing.isStream(response.headers.get('content-type') ?? '')) {
    const json = JSON.parse(Buffer.from(bytes).toString('utf8')) as Body
    return { status: response.status, json, answer: codec.readResponse(json), error: undefined as unknown }
  }
  const reducer = codec.stream()
  for (const event of framing.parser().push(bytes)) reducer.push(event)
  return { status: response.status, json: reducer.body() as Body, answer: reducer.response(), error: reducer.error }
}

/** What the model said and what the client adds to it, as history. */
function historyOf(form: Form, answered: Body, result: string): object[] {
  const { steps } = FORMS[form].wire
  const parts = steps.partsOf(answered)
  const made = parts.flatMap((part) => steps.callOf(part, () => true) ?? [])
  if (made.length === 0) return []
  return [
    ...steps.continuation(
      parts,
      made.map((one) => steps.resultOf(one, result)),
    ),
  ]
}

const agent: Script = ({ number }) =>
  number < HISTORY ? call('read_log', { step: number }, `Step ${number}.`) : say('Done.')

describe.each(CASES)('$form through $way (streamed: $stream)', ({ way, form, stream }) => {
  it('runs forty steps in a window of 16k that nobody named, signed anew', async () => {
    const on = await open(way, form, agent)
    const messages = [user(form, 'Read all logs.')]
    let text = ''
    for (let step = 1; step <= HISTORY; step++) {
      const { status, json, answer } = await send(on, { form, stream, messages })
      expect(status).toBe(200)
      expect(answer.usage?.input).toBeGreaterThan(0)
      messages.push(...historyOf(form, json, toolOutput(step, 16)))
      text = answer.items.map((item) => item.text).join('')
    }
    expect(text).toBe('Done.')
    expect(on.referee.summary()).toMatchObject({ answered: HISTORY, overflows: 1, invalid: 0 })
    expect(on.events.some(({ type }) => type === 'overflow-recovered')).toBe(true)
    expect(on.events.some(({ type }) => type === 'epoch-declared')).toBe(true)
  })

  it('answers a call of ours between the lines of one answer', async () => {
    let asked = 0
    const script: Script = ({ number, tools }) => {
      if (asked > 0) return say('Found.')
      if (!tools.includes('recall')) return call('read_log', { step: number })
      asked = number
      return calls([{ name: 'recall', input: { query: 'order' } }], 'One moment.')
    }
    const on = await open(way, form, script, { window: 9_000 })
    const messages = [user(form, 'Read all logs.')]
    let last = await send(on, { form, stream, messages })
    for (let step = 1; asked === 0 && step < HISTORY; step++) {
      messages.push(...historyOf(form, last.json, toolOutput(step, 40)))
      last = await send(on, { form, stream, messages })
    }
    const { answer, error } = last
    expect(error).toBeUndefined()
    expect(answer.items.map((item) => item.text).join('')).toBe('One moment.Found.')
    expect(answer.stop).toBe('end')
    expect(on.referee.summary()).toMatchObject({ invalid: 0 })
  })
})

describe.each(FORM_NAMES)('credentials of %s', (form) => {
  const messages = [user(form, 'Hi.')]
  const bearer = (key: string) => async (): Promise<Record<string, string>> => ({ authorization: `Bearer ${key}` })
  const none = async (): Promise<Record<string, string>> => ({})

  it('passes an API key on, also where it is wrong', async () => {
    const on = await open('proxy', form, [say('Hi.')])
    expect(await send(on, { form, messages, headers: bearer('ABSK') })).toMatchObject({ status: 200 })
    expect(await send(on, { form, messages, headers: bearer('other') })).toMatchObject({ status: 403 })
  })

  it('signs for a client that sends nothing, or has the environment’s key', async () => {
    const on = await open('proxy', form, [say('Hi.'), say('Hi.')])
    expect(await send(on, { form, messages, headers: none })).toMatchObject({ status: 200 })
    expect(on.referee.log.at(-1)!.headers['authorization']).toContain('Credential=AKIAOWN/')
    vi.stubEnv('AWS_BEARER_TOKEN_BEDROCK', 'ABSK')
    expect(await send(on, { form, messages, headers: none })).toMatchObject({ status: 200 })
    expect(on.referee.log.at(-1)!.headers['authorization']).toBe('Bearer ABSK')
  })

  it('says what is missing where there is nothing to sign with', async () => {
    const on = await open('proxy', form, [say('Hi.')])
    vi.stubEnv('AWS_ACCESS_KEY_ID', '')
    const { status, json } = await send(on, { form, messages, headers: none })
    expect(status).toBeGreaterThanOrEqual(400)
    expect(json['message']).toContain('@aws-sdk/credential-provider-node')
    expect(on.referee.log).toEqual([])
  })

  it('leaves an untouched request of a program as it was signed, whosever key that is', async () => {
    const on = await open('fetch', form, [say('Hi.')])
    const other = { accessKeyId: 'AKIAELSE', secretAccessKey: 'x' }
    const headers = (url: string, body: string): Promise<Record<string, string>> => sign(url, body, other)
    // The referee does not know this key, and says so: nothing was signed in its place.
    expect(await send(on, { form, messages, headers })).toMatchObject({ status: 403 })
  })

  it('is one tenant, however often it signs', async () => {
    const on = await open('proxy', form, [say('Hi.'), say('Hi.')])
    await send(on, { form, messages })
    await send(on, { form, messages })
    expect(
      new Set(on.events.flatMap((event) => ('tenant' in event && event.tenant !== '' ? [event.tenant] : []))).size,
    ).toBe(1)
  })
})

describe.each(FORM_NAMES)('a stream of %s that fails', (form) => {
  it('passes an exception on as it came', async () => {
    const on = await open('proxy', form, [say('A longer answer, in several events.')], {
      faults: [{ on: 1, fault: { kind: 'error-event', afterEvents: 3 } }],
    })
    const { status, error } = await send(on, { form, stream: true, messages: [user(form, 'Hi.')] })
    expect([status, error]).toEqual([200, expect.objectContaining({ message: 'Overloaded' })])
  })

  it('recovers an overflow that is said inside it', async () => {
    const on = await open('proxy', form, agent, { overflow: 'in-answer' })
    const messages = [user(form, 'Read all logs.')]
    for (let step = 1; step < HISTORY; step++) {
      const { error, json } = await send(on, { form, stream: true, messages })
      expect(error).toBeUndefined()
      messages.push(...historyOf(form, json, toolOutput(step, 16)))
    }
    expect(on.referee.summary().overflows).toBe(1)
  })
})
