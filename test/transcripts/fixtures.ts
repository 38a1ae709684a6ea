import { readFileSync } from 'node:fs'

import { type LoadedFile, loadTranscript } from '../../src/lab/transcripts/load.ts'
import type { LoadOptions, Recording } from '../../src/lab/transcripts/recording.ts'

export const fixtureText = (name: string): string =>
  readFileSync(new URL(`../fixtures/transcripts/${name}`, import.meta.url), 'utf8')

export const loadFixture = (name: string, options: LoadOptions = {}): LoadedFile =>
  loadTranscript(fixtureText(name), name, options)

export function onlyRecording(loaded: LoadedFile): Recording {
  const [recording, ...others] = loaded.recordings
  if (recording === undefined || others.length > 0)
    throw new Error(`${loaded.recordings.length} recordings, expected one`)
  return recording
}
