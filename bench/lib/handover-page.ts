import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'

/** A corpus at one window: a line for each manager. */
export interface HandoverTable {
  readonly window: number
  readonly rows: readonly (readonly string[])[]
}

const NAMES: Readonly<Record<string, string>> = {
  'claude-code': 'Claude Code',
  'codex-rollout': 'Codex',
  pi: 'pi',
  openhands: 'OpenHands',
  'swe-agent': 'SWE-agent',
  'gemini-cli': 'Gemini CLI',
}
const PAGE = resolve(join(import.meta.dirname, '../../bench/figures/handover-tables.md'))

const INTRO = `# What compactions keep, corpus by corpus

Written by \`npm run bench:recall -- --folders <corpus> --policies plimsoll,contextguard,… --write\`, one corpus at a time; not edited by hand. How to read it: [handover.md](../../docs/handover.md).

- **quote, name**: of the lines and names that the next answer repeated from before, how much was in view. **user, assistant**: of what people and the model said, how much is in view right
  after a compaction. **alone, gaps**: excerpt lines without their neighbours, and marks that something was left out. **calls**: calls that stand with their argument. **plan**: open entries in view.
- **price**: input under the cache prices of Claude Sonnet 4.5; **of first + last**: against "the first message and the newest ones, cut to 50 % when full", with the same count of tokens, the same
  instructions and tools in front, and the same prices. First + last and the yardstick (all prose, a line for each call, the newest results, cut to 60 %) fill the window to the last token of that count; a policy has to
  stay within it for a provider whose count it does not know: here one that counts 1.12 times what o200k does, and reports its count ("usage") or not.
- Refused calls have no price: a policy that refuses many is cheap for that reason.
`

/** Puts the tables of one corpus, or of chosen sessions of it, into the page, in the place of those that it had. */
export function writeHandoverTables(
  folder: string,
  isPart: boolean,
  about: string,
  tables: readonly HandoverTable[],
  head: readonly string[],
): void {
  const key = isPart ? `${folder}-part` : folder
  const [begin, end] = [`<!-- ${key}:begin -->`, `<!-- ${key}:end -->`]
  const text = existsSync(PAGE) ? readFileSync(PAGE, 'utf8') : INTRO
  const section = [
    begin,
    `## ${NAMES[folder] ?? folder}${isPart ? ', chosen sessions' : ''}`,
    about,
    ...tables.map((table) => tableOf(table, head)),
    end,
  ].join('\n\n')
  const old = INTRO + text.slice(text.indexOf('<!--') < 0 ? text.length : text.indexOf('<!--') - 1)
  const from = old.indexOf(begin)
  const next =
    from < 0
      ? `${old.trimEnd()}\n\n${section}\n`
      : old.slice(0, from) + section + old.slice(old.indexOf(end) + end.length)
  writeFileSync(PAGE, next)
}

function tableOf({ window, rows }: HandoverTable, head: readonly string[]): string {
  const line = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`
  return [line([`${window / 1000}k`, ...head]), `|${'---|'.repeat(head.length + 1)}`, ...rows.map(line)].join('\n')
}
