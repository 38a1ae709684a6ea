import type { LineProfile, Rank } from './text.ts'
import { counted, grouped } from '../text.ts'
import type { ContentKind } from '../types.ts'

/** Which lines of a kind of text matter. Each profile is a fresh one: ranking may remember what came before. */

const EXIT =
  /\bexit(?:ed)?(?: with)?(?: (?:status|code))?[: ]+-?\d+\b|\breturn code[: ]+-?\d+|\bexit status \d+|^make(?:\[\d+\])?: \*\*\*|^error: script .* exited|\bProcess completed with exit code|\bBUILD (?:FAILED|SUCCESS(?:FUL)?)|^npm ERR! (?:code|errno)|^FAILED|^Segmentation fault|\bKilled\b|\bcore dumped\b/i
const TROUBLE =
  /\b(?:error|errors|fatal|panic|exception|traceback|failed|failure|fail|FAIL|cannot|can't|unable to|undefined reference|not found|no such file|permission denied|access denied|refused|timed out|timeout|killed|aborted|oom|segfault|unhandled|rejected|invalid|critical)\b|(?<=\w)(?:Error|Exception)\b/i
const NO_TROUBLE =
  /\b(?:0|no|zero|without) (?:errors?|failures?|failed|warnings?|problems?|issues?)\b|\b(?:errors?|failures?|failed)[:= ]+0\b|error(?:s|_count|Count)?["']?\s*[:=]\s*(?:0|null|false|\[\]|"")|\bno error/i

/** Digits aside, the same message: the second hundred of them says nothing new. */
function novelty(limit = 3): (line: string) => boolean {
  const seen = new Map<string, number>()
  return (line) => {
    const key = line.slice(0, 300).replace(/[0-9a-f]{6,}|\d+/gi, '#')
    const count = seen.get(key) ?? 0
    if (count === 0 && seen.size >= 5_000) return false
    seen.set(key, count + 1)
    return count < limit
  }
}

function plainProfile(): LineProfile {
  const isNew = novelty()
  let context = 0
  return {
    ranking: 'errors and exit status',
    tailShare: 0.55,
    rank(line): Rank | undefined {
      if (EXIT.test(line)) return 0
      if (TROUBLE.test(line) && !NO_TROUBLE.test(line)) {
        if (!isNew(line)) return 3
        context = 2
        return 1
      }
      return context-- > 0 ? 2 : undefined
    },
  }
}

const VERDICTS =
  /^(?:FAIL|PASS|ok)\b.*(?:\d|\[)|^(?:Tests?|Test Suites?|Test Files|Snapshots|Time|Duration):? +|^=+ .*(?:passed|failed|error).* =+$|^test result: |^\s*\d+ (?:pass(?:ing|ed)?|fail(?:ing|ed|ures?)?|pending|skip(?:ped)?|todo)\b|^# (?:tests|pass|fail|ok)\b|^Ran \d+ tests?|Tests run: \d+|^(?:Passed|Failed)! /
const FAILURES =
  /^\s*(?:--- FAIL:|FAIL\b|FAILED\b|not ok\b|✗|×|✕|❌|\(fail\)|E   |panic:|failures:|AssertionError|Error Trace:|Error:)|\b(?:FAILED|FAILURE)\b|^\S+ \S*:? ?\(fail\) |\.\.\. FAILED|^_{3,} .* _{3,}$|^\s+\d+\) \S|\bassert(?:ion)?\b.*(?:fail|error)/i

const PASSED = /^\s*(?:\S+ \S*:? ?)?(?:\(pass\)|✓|✔|--- PASS:|ok\s+\d*|PASS\b)|^test .* \.\.\. ok$|^\S+\.py::\S+ PASSED/
const SKIPPED = /^\s*(?:\S+ \S*:? ?)?(?:\(skip\)|↓|--- SKIP:)|\.\.\. ignored$|^\S+\.py::\S+ SKIPPED/

/** Verdicts and failures with their details. Names of tests that passed may hold any word, so they are looked at first. */
function testProfile(): LineProfile {
  let detail = 0
  const seen = { passed: 0, failed: 0, skipped: 0 }
  return {
    ranking: 'failures and verdicts',
    tailShare: 0.6,
    rank(line): Rank | undefined {
      if (PASSED.test(line) || SKIPPED.test(line)) {
        seen[PASSED.test(line) ? 'passed' : 'skipped']++
        detail = 0
        return VERDICTS.test(line) && !/^ok\b|^PASS\b/.test(line) ? 3 : undefined
      }
      if (EXIT.test(line)) return 0
      if (FAILURES.test(line) && !NO_TROUBLE.test(line)) {
        seen.failed++
        detail = 14
        return 1
      }
      if (VERDICTS.test(line)) return /fail|error/i.test(line) && !NO_TROUBLE.test(line) ? 1 : 3
      return detail-- > 0 ? 2 : undefined
    },
    facts: () => [
      `Lines that report: ${grouped(seen.passed)} passed, ${grouped(seen.failed)} failed, ${grouped(seen.skipped)} skipped`,
    ],
  }
}

function stackProfile(): LineProfile {
  const isNew = novelty(2)
  return {
    ranking: 'exceptions',
    tailShare: 0.4,
    rank(line): Rank | undefined {
      if (EXIT.test(line)) return 0
      if (
        /^(?:Caused by|Suppressed|Traceback|panic:|thread '|goroutine \d+ \[running|[\w.$]+(?:Error|Exception|Throwable)\b)|^\s*\[cause\]|^\w*Error: /.test(
          line,
        )
      )
        return isNew(line) ? 1 : undefined
      // Frames in the program's own code say more than those of libraries.
      if (/^\s+(?:at |File "|from )|^\t/.test(line)) {
        return /node_modules|site-packages|\/usr\/lib|java\.|javax\.|sun\.|node:internal|\.cargo\/|\/go\/pkg\//.test(
          line,
        )
          ? undefined
          : 2
      }
      return TROUBLE.test(line) && isNew(line) ? 2 : undefined
    },
  }
}

const MAX_FILES = 200

/** What changed by file, then the hunks in order. */
function diffProfile(): LineProfile {
  const files: { name: string; added: number; removed: number }[] = []
  let more = 0
  return {
    ranking: 'files and hunks',
    tailShare: 0.15,
    rank(line): Rank | undefined {
      const header = /^\+\+\+ (?:b\/)?(\S.*)$/.exec(line)
      if (header !== null) {
        if (files.length < MAX_FILES) files.push({ name: header[1]!.split('\t')[0]!, added: 0, removed: 0 })
        else more++
        return 1
      }
      if (
        /^diff --git |^Index: |^Binary files|^(?:rename|new file|deleted file|similarity|commit [0-9a-f]{7})/.test(line)
      )
        return 1
      if (line.startsWith('@@')) return 2
      const sign = line[0]
      if ((sign !== '+' && sign !== '-') || line.startsWith('---')) return undefined
      const file = files[files.length - 1]
      if (file !== undefined && more === 0) file[sign === '+' ? 'added' : 'removed']++
      return 3
    },
    facts() {
      const total = (key: 'added' | 'removed'): string => grouped(files.reduce((sum, file) => sum + file[key], 0))
      return [
        `${counted(files.length + more, 'file')} changed, +${total('added')} -${total('removed')}${more > 0 ? ' in the first 200' : ''}:`,
        ...files.map(({ name, added, removed }) => `  ${name} +${added} -${removed}`),
      ]
    },
  }
}

function codeProfile(): LineProfile {
  return {
    tailShare: 0.15,
    rank(line): Rank | undefined {
      return /^(?:\s*\d+(?:→|\t|: ?|\|))?(?:export |pub |public |private |protected |static |async |abstract |default )*(?:function\b|class\b|interface\b|type \w|enum\b|struct\b|impl\b|trait\b|def \w|fn \w|func\b|const \w+ = (?:async )?\(|module\b|namespace\b|CREATE )/.test(
        line,
      )
        ? 3
        : undefined
    },
  }
}

function markdownProfile(): LineProfile {
  return {
    tailShare: 0.2,
    markdown: true,
    rank: (line) => (/^#{1,6} \S/.test(line) ? 3 : EXIT.test(line) && line.length < 120 ? 0 : undefined),
  }
}

function tableProfile(format: string | undefined): LineProfile {
  const isNew = novelty(2)
  return {
    tailShare: 0.3,
    header: 1,
    markdown: format === 'markdown',
    rank: (line) =>
      /\b(?:Error|CrashLoopBackOff|OOMKilled|Failed|failed|Evicted|NotReady|Pending|ImagePullBackOff|unhealthy|Unknown)\b/.test(
        line,
      ) && isNew(line)
        ? 1
        : undefined,
  }
}

export function profileOf(kind: ContentKind, format?: string): LineProfile {
  switch (kind) {
    case 'test-output':
      return testProfile()
    case 'stack-trace':
      return stackProfile()
    case 'diff':
      return diffProfile()
    case 'code':
      return codeProfile()
    case 'markdown':
    case 'html':
      return markdownProfile()
    case 'table':
      return tableProfile(format)
    default:
      return plainProfile()
  }
}
