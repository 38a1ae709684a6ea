/** A model server around llama.cpp (`node-llama-cpp`): its tokenizer, its context, and the words of `llama-server` for what exceeds it. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { pathToFileURL } from 'node:url'

type Token = number & { readonly __token: never }

/** The little of `node-llama-cpp` that is used here; it is installed into a folder of its own. */
interface LlamaModule {
  getLlama(options: { gpu: false; build: 'never'; logLevel: string; maxThreads: number }): Promise<{
    loadModel(options: { modelPath: string }): Promise<LlamaModel>
    dispose(): Promise<void>
  }>
}
interface LlamaModel {
  readonly tokens: { readonly bos: Token | null; readonly eos: Token | null }
  tokenize(text: string, specialTokens?: boolean): Token[]
  detokenize(tokens: readonly Token[]): string
  createContext(options: { contextSize: number; sequences: number; threads: number }): Promise<{
    readonly contextSize: number
    getSequence(): {
      clearHistory(): Promise<void>
      evaluate(tokens: readonly Token[], options: { temperature: number; seed: number }): AsyncIterable<Token>
    }
  }>
}

export interface LocalServer {
  readonly url: string
  /** Prompts that were answered, and prompts that were refused, in tokens. */
  readonly answered: readonly number[]
  readonly refused: readonly number[]
  close(): Promise<void>
}

const MAX_OUTPUT = 24

export async function startLocalServer(entry: string, modelPath: string, contextSize: number): Promise<LocalServer> {
  // One thread: several wait for each other in a loop, and for ever where the machine is busy.
  const { getLlama } = (await import(pathToFileURL(entry).href)) as LlamaModule
  const llama = await getLlama({ gpu: false, build: 'never', logLevel: 'error', maxThreads: 1 })
  const model = await llama.loadModel({ modelPath })
  const context = await model.createContext({ contextSize, sequences: 1, threads: 1 })
  const sequence = context.getSequence()
  const answered: number[] = []
  const refused: number[] = []
  let turn: Promise<unknown> = Promise.resolve()

  async function complete(body: ChatRequest): Promise<readonly [number, object]> {
    const prompt = [model.tokens.bos!, ...model.tokenize(promptOf(body))]
    // As `llama-server` says it.
    if (prompt.length >= context.contextSize) {
      refused.push(prompt.length)
      const message = 'the request exceeds the available context size, try increasing it'
      const numbers = { n_prompt_tokens: prompt.length, n_ctx: context.contextSize }
      return [400, { error: { code: 400, message, type: 'exceed_context_size_error', ...numbers } }]
    }
    const room = Math.min(body.max_tokens ?? MAX_OUTPUT, MAX_OUTPUT, context.contextSize - prompt.length)
    const answer: Token[] = []
    await sequence.clearHistory()
    for await (const token of sequence.evaluate(prompt, { temperature: 0.8, seed: prompt.length })) {
      if (token === model.tokens.eos) break
      answer.push(token)
      if (answer.length >= room) break
    }
    answered.push(prompt.length)
    const usage = { prompt_tokens: prompt.length, completion_tokens: answer.length }
    return [
      200,
      {
        id: `chatcmpl-${answered.length}`,
        object: 'chat.completion',
        created: 0,
        model: body.model,
        choices: [
          { index: 0, message: { role: 'assistant', content: model.detokenize(answer) }, finish_reason: 'stop' },
        ],
        usage: { ...usage, total_tokens: prompt.length + answer.length },
      },
    ]
  }

  const server = createServer((incoming, response) => {
    // One sequence, one request at a time.
    turn = turn.then(() => serve(incoming, response, complete))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    answered,
    refused,
    async close() {
      await new Promise((resolve) => server.close(resolve))
      await llama.dispose()
    },
  }
}

interface ChatRequest {
  readonly model: string
  readonly max_tokens?: number
  readonly messages: readonly { readonly role: string; readonly content: unknown }[]
  readonly tools?: unknown
}

/** A chat template of the simplest kind; declared tools stand before the messages, as templates put them. */
const promptOf = ({ messages, tools }: ChatRequest): string =>
  [
    ...(tools === undefined ? [] : [`tools: ${JSON.stringify(tools)}`]),
    ...messages.map(({ role, content, ...rest }) => {
      const extra = Object.keys(rest).length === 0 ? '' : JSON.stringify(rest)
      return `${role}: ${typeof content === 'string' ? content : JSON.stringify(content)}${extra}`
    }),
    'assistant:',
  ].join('\n')

async function serve(
  incoming: IncomingMessage,
  response: ServerResponse,
  complete: (body: ChatRequest) => Promise<readonly [number, object]>,
): Promise<void> {
  const chunks: Buffer[] = []
  for await (const chunk of incoming) chunks.push(chunk as Buffer)
  const [status, answer] = await complete(JSON.parse(Buffer.concat(chunks).toString()) as ChatRequest)
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(answer))
}
