import { Option, type Command } from 'commander'
import type { LoadOptions } from '../../lab/transcripts/recording.ts'

/** How a recording becomes requests again. */
export function addLoadOptions(command: Command, defaults: Required<Pick<LoadOptions, 'resend'>>): Command {
  return command
    .addOption(
      new Option(
        '--resend <what>',
        'what is sent after a compaction that the recorded client made itself: what the client kept (recorded), or the whole history (everything)',
      )
        .choices(['recorded', 'everything'])
        .default(defaults.resend),
    )
    .addOption(
      new Option(
        '--thinking <what>',
        'recorded reasoning: keep it in the history, or drop it, as clients do that never send it again',
      )
        .choices(['keep', 'drop'])
        .default('keep'),
    )
    .addOption(
      new Option(
        '--parallel <how>',
        'parallel calls that the log holds one by one: merge them into one turn as the API had them, or keep them as written',
      )
        .choices(['merged', 'as-written'])
        .default('merged'),
    )
}
