import { anthropic } from './histories/anthropic.ts'
import { claudeCode } from './agents/claude-code.ts'
import { cline } from './agents/cline.ts'
import { codexRollout } from './agents/codex-rollout.ts'
import { copilotCli } from './agents/copilot-cli.ts'
import { geminiCli } from './agents/gemini-cli.ts'
import type { TranscriptLoader } from './loader.ts'
import { openaiChat } from './histories/openai-chat.ts'
import { openCode } from './agents/opencode.ts'
import { openHands } from './agents/openhands.ts'
import { pi } from './agents/pi.ts'
import { requestLog } from './histories/request-log.ts'
import { sweAgent } from './agents/swe-agent.ts'
import { tau2Bench, tauBench } from './agents/tau-bench.ts'

/** Most telling first: what a later one also accepts has been claimed by an earlier one. */
const LOADERS: readonly TranscriptLoader[] = [
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
