import { type Answer, calls, say } from '../../testing/referee/index.ts'
import { filler } from './filler.ts'
import { replyText, type Blob, type Scenario, type ToolSet, type Turn } from './scenario.ts'

/** One model call: the request as the client sends it, and what the model will answer. */
export interface ClientStep {
  readonly turn: number
  readonly body: string
  readonly answer: Answer
}

/** The reserve that a client of this window asks for its answer. */
const outputTokensOf = (window: number): number => Math.min(4_096, Math.floor(window / 8))

/**
 * The client: its history only grows, nothing that a context manager does reaches it, and every step sends a fresh copy of all
 * of it. Parallel results stand in one message; sequential ones cost a call each; the closing text is appended without a step.
 */
export function* clientSteps(scenario: Scenario): Generator<ClientStep> {
  const history: string[] = []
  const frame = envelope(scenario)
  const step = (turn: number, answer: Answer): ClientStep => ({ turn, body: frame(history), answer })
  for (let index = 0; index < scenario.turns; index++) {
    const turn = scenario.turn(index)
    const closing = say(replyText(index, turn, (characters) => filler(characters, index * 100 + 99)))
    history.push(userContent(index, turn))
    for (const group of groupsOf(turn)) {
      const made = group.map(({ size, at }) => toolOf(scenario, turn, index, at, size))
      yield step(index, calls(made.map(({ name, input, id }) => ({ name, input, id }))))
      history.push(
        content(
          'model',
          made.map(({ name, input, id }) => ({ functionCall: { id, name, args: input } })),
        ),
      )
      history.push(
        content(
          'user',
          made.map(({ name, id, result }) => ({ functionResponse: { id, name, response: { result } } })),
        ),
      )
    }
    yield step(index, closing)
    history.push(
      content(
        'model',
        closing.parts.map((part) => ({ text: 'text' in part ? part.text : '' })),
      ),
    )
  }
}

interface Sized {
  readonly size: number
  readonly at: number
}

/** Results by the model call that asks for them. */
function groupsOf({ parallel, sequential }: Turn): Sized[][] {
  const sized = (sizes: readonly number[]): Sized[] => sizes.map((size, at) => ({ size, at }))
  if (parallel !== undefined) return [sized(parallel)]
  return sized(sequential ?? []).map((one) => [one])
}

function toolOf(scenario: Scenario, turn: Turn, index: number, at: number, size: number) {
  return {
    id: `call_${index}_${at}`,
    name: scenario.toolName((turn.firstTool ?? 0) + at),
    // A key and a value of one token each, by bytes / 4.
    input: { query: `q${String(index).padStart(4, '0')}` },
    result: filler(size, index * 100 + at + 1),
  }
}

const content = (role: 'user' | 'model', parts: readonly object[]): string => JSON.stringify({ role, parts })

function userContent(index: number, { user, media = [] }: Turn): string {
  const blobs = media.map((blob, at) => ({
    inlineData: { mimeType: blob.mime, data: blobData(blob, index * 10 + at) },
  }))
  return content('user', [{ text: filler(user, index * 100) }, ...blobs])
}

/** Base64 of so many bytes; the first ones tell blobs apart. */
function blobData({ bytes }: Blob, seed: number): string {
  const data = Buffer.alloc(bytes, 0x5a)
  if (bytes >= 4) data.writeUInt32BE(seed + 1, 0)
  return data.toString('base64')
}

function envelope({ system, tools, window }: Scenario): (history: readonly string[]) => string {
  const fixed = {
    systemInstruction: { parts: [{ text: filler(system, 7) }] },
    ...(tools !== undefined && { tools: [{ functionDeclarations: declarations(tools) }] }),
    generationConfig: { maxOutputTokens: outputTokensOf(window) },
  }
  const head = JSON.stringify(fixed).slice(0, -1)
  return (history) => `${head},"contents":[${history.join(',')}]}`
}

const DECLARED = { name: 8, description: 40 }

/** Declarations that come to exactly the set's tokens by bytes / 4 of name, description and schema. */
function declarations({ count, tokens }: ToolSet): object[] {
  return Array.from({ length: count }, (_, n) => {
    const own = Math.floor(tokens / count) + (n < tokens % count ? 1 : 0)
    const schemaTokens = own - (DECLARED.name + DECLARED.description) / 4
    return {
      name: `declared${n}`.slice(0, DECLARED.name - 2) + String(n).padStart(2, '0'),
      description: filler(DECLARED.description, 500 + n),
      parameters: schemaOf(schemaTokens * 4, 600 + n),
    }
  })
}

function schemaOf(characters: number, seed: number): object {
  const schema = (description: string): object => ({
    type: 'object',
    properties: { input: { type: 'string', description } },
  })
  const room = characters - JSON.stringify(schema('')).length
  // Line ends would be two characters in JSON.
  return schema(filler(room, seed).replaceAll('\n', ' '))
}
