/**
 * Reads one log line: timestamp, severity, and the message without its header. One pass over a bounded prefix, since a
 * header is never long and a line may be.
 */
export type Severity = 'fatal' | 'error' | 'warn' | 'info' | 'debug' | 'trace' | 'unknown'

export interface LogLine {
  /** As written in the line; undefined when there is none. */
  readonly time: string | undefined
  readonly level: Severity
  readonly message: string
}

/** The words of each level, by which loggers and syslog know it. */
const WORDS: Readonly<Record<Exclude<Severity, 'unknown'>, string>> = {
  fatal: 'emerg emergency alert crit critical fatal panic',
  error: 'err error severe failure',
  warn: 'warn warning',
  info: 'notice info information log default',
  debug: 'debug dbug fine',
  trace: 'verbose trace finest',
}
const LEVELS = new Map(
  Object.entries(WORDS).flatMap(([level, words]) => words.split(' ').map((word) => [word, level as Severity])),
)

/** Android and klog write one letter. */
const LETTERS: Readonly<Record<string, Severity>> = {
  F: 'fatal',
  E: 'error',
  W: 'warn',
  I: 'info',
  D: 'debug',
  V: 'trace',
}

const MONTH = '(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)'
const CLOCK = '\\d{1,2}:\\d{2}:\\d{2}(?:[.,]\\d{1,9})?'
const ZONE = '(?:\\s?(?:Z|UTC|GMT|[+-]\\d{2}:?\\d{2}))?'
const STAMPS = [
  `\\d{4}[-/.]\\d{2}[-/.]\\d{2}(?:[T _]${CLOCK}${ZONE})?`,
  `(?:(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun),? )?(?:${MONTH} +\\d{1,2}|\\d{1,2} ${MONTH}),? (?:\\d{4} )?${CLOCK}(?: [A-Z]{3,4})?(?: \\d{4})?`,
  `\\d{2}/${MONTH}/\\d{4}:\\d{2}:\\d{2}:\\d{2}(?: [+-]\\d{4})?`,
  `\\d{2}[-/]\\d{2}[-/]\\d{2,4} ${CLOCK}`,
  `\\d{2}-\\d{2} ${CLOCK}`,
  `\\d{6} \\d{6}`,
  `\\d{1,2}:\\d{2}:\\d{2}(?:[.,]\\d{1,9})?(?: [AP]M)?`,
  `\\d{10}(?:\\d{3})?(?:\\.\\d+)?(?=[ \\]])`,
].join('|')
const STAMP = new RegExp(`^\\[?(${STAMPS})\\]?(?=[\\s:,|\\]-]|$)`)
/** A file name or container name may stand before the time. */
const LATER_STAMP = new RegExp(`^[^\\s]{1,80} (?:\\| )?\\[?(${STAMPS})\\]?(?=[\\s:,|\\]-]|$)`)
const SYSLOG_TIME = new RegExp(`^${MONTH} `)
const PRIORITY = /^<\d{1,3}>(?:\d )?/
const KLOG = /^([IWEF])(\d{4} \d{2}:\d{2}:\d{2}\.\d+) +\d+ [\w./-]+:\d+\] /
const ACCESS = /^(\S+) \S+ \S+ \[([^\]]{10,40})\] "([^"]{0,2000})" (\d{3}) (\S+)/
const LOGFMT = /(?:^|\s)(?:level|lvl|severity)="?([A-Za-z]+)"?/
const LOGFMT_TIME = /(?:^|\s)(?:time|ts|timestamp)="?([^\s"]+)"?/
const LOGFMT_MESSAGE = /(?:^|\s)(?:msg|message)=(?:"((?:[^"\\]|\\.)*)"|(\S+))/
const PROCESS = /^([A-Za-z_][\w.$/@()-]{0,60}?)(?:\[\d+\]|\(\d+\))?:(?=\s|$)/
const DOTTED = /^[a-z][\w$]*(?:\.[\w$]+)+(?=\s)/
const DASHED = /^([A-Za-z][\w.-]{1,40}) - /
const HEADER_LIMIT = 2_000

export const levelOf = (word: string): Severity | undefined => LEVELS.get(word.toLowerCase())

export function parseLogLine(line: string): LogLine {
  const access = line.length < 8_000 ? ACCESS.exec(line) : null
  if (access !== null) return accessLine(access)
  const klog = KLOG.exec(line)
  if (klog !== null) return { time: klog[2], level: LETTERS[klog[1]!]!, message: line.slice(klog[0].length) }
  const head = line.length > HEADER_LIMIT ? line.slice(0, HEADER_LIMIT) : line
  const logfmt = LOGFMT.exec(head)
  if (logfmt !== null) return logfmtLine(line, head, logfmt[1]!)
  return plainLine(line, head)
}

/** A server's access log: the status is the severity. */
function accessLine([, client, time, request, status, size]: RegExpExecArray): LogLine {
  const level = status!.startsWith('5') ? 'error' : status!.startsWith('4') ? 'warn' : 'info'
  return { time: time!, level, message: `${client} "${request}" ${status} ${size}` }
}

function logfmtLine(line: string, head: string, word: string): LogLine {
  const message = LOGFMT_MESSAGE.exec(head)
  return {
    time: LOGFMT_TIME.exec(head)?.[1],
    level: levelOf(word) ?? 'unknown',
    message: message?.[1] ?? message?.[2] ?? line,
  }
}

function plainLine(line: string, head: string): LogLine {
  let at = head.startsWith('<') ? (PRIORITY.exec(head)?.[0].length ?? 0) : 0
  let time: string | undefined
  const rest = at === 0 ? head : head.slice(at)
  const stamp = STAMP.exec(rest) ?? LATER_STAMP.exec(rest)
  if (stamp !== null) {
    time = stamp[1]!
    at += stamp[0].length
  }
  const { level, end } = readHeader(head, at, time !== undefined && SYSLOG_TIME.test(time), time !== undefined)
  return { time, level: level ?? guessLevel(head, end), message: line.slice(end) }
}

/** Walks the fields between the time and the message: level, process and thread numbers, bracketed context, component. */
function readHeader(head: string, from: number, syslog: boolean, timed: boolean) {
  let at = skipSeparators(head, from)
  let level: Severity | undefined
  let hasSource = false
  if (syslog) {
    // "Jun 14 15:16:01 host program[pid]: message"
    const host = /^\S+ +/.exec(head.slice(at, at + 100))
    if (host !== null && PROCESS.test(head.slice(at + host[0].length, at + host[0].length + 120))) at += host[0].length
  }
  for (let fields = 0; fields < 8; fields++) {
    // Without a time, only a level can start a header.
    if (!timed && fields > 0 && level === undefined) break
    const rest = head.slice(at, at + 200)
    const word = level === undefined ? /^[[(<]?([A-Za-z]+)[\])>]?:?(?=\s|$|[|,-])/.exec(rest) : null
    const named =
      word === null ? undefined : word[1]!.length > 1 ? levelOf(word[1]!) : timed ? LETTERS[word[1]!] : undefined
    if (named !== undefined) {
      level = named
      at = skipSeparators(head, at + word![0].length)
      continue
    }
    const number = timed && level === undefined ? /^\d+(?=\s)/.exec(rest) : null
    if (number !== null) {
      at = skipSeparators(head, at + number[0].length)
      continue
    }
    const bracket = timed && rest.startsWith('[') ? closingBracket(head, at) : -1
    if (bracket > 0 && !(level !== undefined && hasSource && !head.startsWith('] ', bracket))) {
      const inner = head.slice(at + 1, bracket)
      const innerLevel = level === undefined ? levelOf(inner.trim()) : undefined
      if (innerLevel !== undefined) level = innerLevel
      // "[instance: 4f2a…] message" belongs to the message; a thread or request context has no "key: value" form.
      else if (/^\w+: /.test(inner)) break
      at = skipSeparators(head, bracket + 1)
      continue
    }
    const source =
      hasSource || (!timed && level === undefined)
        ? null
        : (PROCESS.exec(rest) ?? (level === undefined ? null : (DOTTED.exec(rest) ?? DASHED.exec(rest))))
    if (source === null) break
    hasSource = true
    at = skipSeparators(head, at + source[0].length)
  }
  return { level, end: at }
}

/** Space, tab and '|'; a dash or colon only when it stands alone between fields. */
const SEPARATORS = /(?:[\t |]|[-:] )*/y

function skipSeparators(head: string, at: number): number {
  SEPARATORS.lastIndex = at
  SEPARATORS.test(head)
  return SEPARATORS.lastIndex
}

/** Index of the bracket that closes the one at `at`; nested brackets count ("[QuorumPeer[myid=1]/…]"). */
function closingBracket(head: string, at: number): number {
  let depth = 0
  for (let i = at; i < head.length && i < at + 400; i++) {
    const code = head.charCodeAt(i)
    if (code === 91) depth++
    else if (code === 93 && --depth === 0) return i
  }
  return -1
}

const FATAL_WORDS = /\b(?:FATAL|PANIC|panic:|EMERG)/
const ERROR_WORDS =
  /\b(?:ERROR|Error|error|SEVERE|Exception|EXCEPTION|Traceback|FAILED|failed|failure|Failed)\b|\b[A-Z]\w+(?:Error|Exception)\b/
const WARN_WORDS = /\b(?:WARN|WARNING|Warning|warning|deprecated)\b/
const ZERO_ERRORS = /\b(?:0|no|without) (?:errors?|failures?|failed)\b|\b(?:errors?|failures?|failed)[:= ]+0\b/i

/** Without a level field the words of the message decide; "0 errors" is no error. */
function guessLevel(head: string, from: number): Severity {
  const text = head.slice(from, from + 400)
  if (FATAL_WORDS.test(text)) return 'fatal'
  if (ERROR_WORDS.test(text) && !ZERO_ERRORS.test(text)) return 'error'
  if (WARN_WORDS.test(text)) return 'warn'
  return 'unknown'
}

/** True when a line carries a time or a level of its own, as log lines do. */
export function looksLikeLogLine(line: string): boolean {
  const head = line.length > HEADER_LIMIT ? line.slice(0, HEADER_LIMIT) : line
  return (
    STAMP.test(head) ||
    LATER_STAMP.test(head) ||
    KLOG.test(head) ||
    ACCESS.test(head) ||
    (LOGFMT.test(head) && LOGFMT_MESSAGE.test(head)) ||
    /^[[(<]?(?:EMERG|ALERT|CRIT(?:ICAL)?|FATAL|ERROR|ERR|WARN(?:ING)?|NOTICE|INFO|DEBUG|TRACE)[\])>]?[ :|]/.test(head)
  )
}
