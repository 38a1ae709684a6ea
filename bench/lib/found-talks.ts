/** Conversations with questions whose evidence is known. */
import { join } from 'node:path'
import { filesBelow, readLines, readText } from './shared.ts'

export interface Message {
  readonly role: 'user' | 'assistant'
  readonly content: string
}

interface Question {
  readonly text: string
  /** Sentences that hold the answer, verbatim, and the newest message that one of them stands in. */
  readonly evidence: readonly string[]
  readonly behind: number
}

export interface Talk {
  readonly name: string
  readonly messages: readonly Message[]
  readonly questions: readonly Question[]
}

interface LocomoTurn {
  readonly speaker: string
  readonly dia_id: string
  readonly text?: string
}

interface Locomo {
  readonly speaker_a: string
  readonly qa: readonly { readonly question: string; readonly evidence?: readonly string[] }[]
  readonly [session: string]: unknown
}

/** Turns of all conversations, one after the other: some 100,000 tokens, so that a window of 64,000 fills. */
function locomoTurns(transcripts: string): {
  readonly turns: readonly (LocomoTurn & { date: string; user: boolean })[]
  readonly questions: readonly { text: string; ids: readonly string[] }[]
} {
  const turns: (LocomoTurn & { date: string; user: boolean })[] = []
  const questions: { text: string; ids: readonly string[] }[] = []
  for (const file of filesBelow(join(transcripts, 'locomo'))) {
    const talk = JSON.parse(readText(join(transcripts, 'locomo', file))) as Locomo
    for (let n = 1; Array.isArray(talk[`session_${n}`]); n++)
      for (const turn of talk[`session_${n}`] as LocomoTurn[])
        turns.push({
          ...turn,
          dia_id: `${file}/${turn.dia_id}`,
          date: String(talk[`session_${n}_date_time`]),
          user: turn.speaker === talk.speaker_a,
        })
    for (const { question, evidence = [] } of talk.qa)
      if (evidence.length > 0) questions.push({ text: question, ids: evidence.map((id) => `${file}/${id}`) })
  }
  return { turns, questions }
}

interface Part {
  readonly role: Message['role']
  readonly text: string
  readonly id?: string
  /** Ids of parts of it, with their text. */
  readonly within?: readonly (readonly [id: string, text: string])[]
}

/** Messages of one role in a row are one message, as chat clients send them. */
function joinedTalk(
  name: string,
  parts: readonly Part[],
  asked: readonly { text: string; ids: readonly string[] }[],
): Talk {
  const messages: { role: Message['role']; content: string }[] = []
  const placeOf = new Map<string, { text: string; message: number }>()
  for (const { role, text, id, within = [] } of parts) {
    const last = messages.at(-1)
    if (last?.role === role) last.content += `\n\n${text}`
    else messages.push({ role, content: text })
    if (id !== undefined) placeOf.set(id, { text, message: messages.length - 1 })
    for (const [of, line] of within) placeOf.set(of, { text: line, message: messages.length - 1 })
  }
  const questions = asked.flatMap(({ text, ids }): Question[] => {
    const places = ids.flatMap((id) => placeOf.get(id) ?? [])
    if (places.length === 0) return []
    return [
      { text, evidence: places.map((place) => place.text), behind: Math.max(...places.map(({ message }) => message)) },
    ]
  })
  return { name, messages, questions }
}

/** Two people who talk: one is the user, the other the assistant. */
function talk(data: string): Talk {
  const { turns, questions } = locomoTurns(join(data, 'transcripts'))
  return joinedTalk(
    'talk',
    turns.map(({ dia_id, text = '', user, date, speaker }) => ({
      role: user ? 'user' : 'assistant',
      text: `${speaker} (${date}): ${text}`,
      id: dia_id,
    })),
    questions,
  )
}

/** What people wrote stands between long answers about other things. */
function essays(data: string): Talk {
  const { turns, questions } = locomoTurns(join(data, 'transcripts'))
  const paragraphs = proseParagraphs(data)
  let next = 0
  const parts = turns.flatMap(({ dia_id, text = '', date, speaker }, i): Part[] => {
    const said: Part = { role: 'user', text: `${speaker} (${date}): ${text}`, id: dia_id }
    if (i % 12 !== 11) return [said]
    const answer = Array.from({ length: 4 }, () => paragraphs[next++ % paragraphs.length]!).join('\n\n')
    return [said, { role: 'assistant', text: answer }]
  })
  return joinedTalk('essays', parts, questions)
}

/** Lines of an answer's paragraph, its paragraphs, and of the questions about answers so many are left out: most are about people's words. */
const [LINES, PARAGRAPHS, SPARSE] = [5, 3, 16]

/** One person with long answers, 100,000 tokens: short messages that together fit into a window of 32,000, and answers that do not. */
function chat(data: string): Talk {
  const { turns, questions } = locomoTurns(join(data, 'transcripts'))
  const [own] = turns[0]!.dia_id.split('/')
  const isOwn = (id: string): boolean => id.startsWith(`${own}/`)
  const textOf = ({ speaker, date, text = '' }: (typeof turns)[number]): string => `${speaker} (${date}): ${text}`
  const asked = turns.filter(({ dia_id }) => isOwn(dia_id))
  const told = turns.filter(({ dia_id }) => !isOwn(dia_id))
  const answers = Math.floor(told.length / LINES / PARAGRAPHS)
  const parts: Part[] = []
  for (let i = 0; i < answers; i++) {
    const from = Math.floor((i * asked.length) / answers)
    const to = Math.floor(((i + 1) * asked.length) / answers)
    for (const turn of asked.slice(from, to)) parts.push({ role: 'user', text: textOf(turn), id: turn.dia_id })
    for (let p = 0; p < PARAGRAPHS; p++) {
      const lines = told.slice((i * PARAGRAPHS + p) * LINES).slice(0, LINES)
      parts.push({
        role: 'assistant',
        text: lines.map(textOf).join(' '),
        within: lines.map((line) => [line.dia_id, textOf(line)]),
      })
    }
  }
  const chosen = questions.filter(({ ids }, i) => isOwn(ids[0]!) || i % SPARSE === 0)
  return joinedTalk('chat', parts, chosen)
}

function proseParagraphs(data: string): readonly string[] {
  const file = filesBelow(join(data, 'tool-outputs/multilingual')).find((name) => name.includes('xquad-en'))!
  const parsed = JSON.parse(readText(join(data, 'tool-outputs/multilingual', file))) as {
    data: { paragraphs: { context: string }[] }[]
  }
  return parsed.data.flatMap(({ paragraphs }) => paragraphs.map(({ context }) => context))
}

/** People who tell about themselves at length, with questions about single sentences. */
function memory(data: string): Talk {
  const transcripts = join(data, 'transcripts')
  const sources = new Map<string, string>()
  const parts: Part[] = []
  const asked: { text: string; ids: readonly string[] }[] = []
  for (const topic of ['customer', 'finance', 'healthcare']) {
    const file = filesBelow(join(transcripts, 'bfcl')).find((name) => name.startsWith(`memory_${topic}.jsonl`))!
    const said = readLines<{ question: Message[][] }>(join(transcripts, 'bfcl', file)).flatMap(({ question }) =>
      question.flat(),
    )
    const rows = readLines<{ id: string; question: string; source?: string }>(
      join(transcripts, `bfcl/memory_${topic}.qa.jsonl`),
    )
    for (const { content } of said) {
      parts.push({ role: 'user', text: content }, { role: 'assistant', text: 'Noted.' })
    }
    const all = parts.map(({ text }) => text).join('\n')
    for (const { id, question, source } of rows)
      if (source !== undefined && all.includes(source)) {
        const at = parts.findIndex(({ text }) => text.includes(source))
        parts[at] = { ...parts[at]!, id: `${topic}/${at}` }
        sources.set(`${id}`, source)
        asked.push({ text: question, ids: [`${topic}/${at}`] })
      }
  }
  const talk = joinedTalk('memory', parts, asked)
  const bySource = [...sources.values()]
  return { ...talk, questions: talk.questions.map((question, i) => ({ ...question, evidence: [bySource[i]!] })) }
}

/** By name, made of the shared data. */
export const TALKS: Readonly<Record<string, (data: string) => Talk>> = { talk, chat, essays, memory }
