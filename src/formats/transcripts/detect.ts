import { anthropic } from './anthropic.ts'
import { claudeCode } from './claude-code.ts'
import { cline } from './cline.ts'
import { codexRollout } from './codex-rollout.ts'
import { copilotCli } from './copilot-cli.ts'
import { geminiCli } from './gemini-cli.ts'
import type { TranscriptLoader } from './loader.ts'
import { openaiChat } from './openai-chat.ts'
import { openCode } from './opencode.ts'
import { openHands } from './openhands.ts'
import { pi } from './pi.ts'
import { requestLog } from './request-log.ts'
import { sweAgent } from './swe-agent.ts'
import { tau2Bench, tauBench } from './tau-bench.ts'

/** Most telling first: what a later one also accepts has been claimed by an earlier one. */
export const LOADERS: readonly TranscriptLoader[] = [
  claudeCode,
  copilotCli,
  geminiCli,
  cline,
  openCode,
  tauBench,
  tau2Bench,
  sweAgent,
  openHands,
  pi,
  anthropic,
  openaiChat,
  codexRollout,
  requestLog,
]

/** The format of one JSON value, read from its content and never from its file name. */
export function detectLoader(value: unknown): TranscriptLoader | undefined {
  return LOADERS.find((loader) => loader.recognises(value))
}
