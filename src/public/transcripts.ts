/** `plimsoll/transcripts`: recordings of agents as conversations. */
export { loadFile, loadTranscript, type LoadedFile } from '../lab/transcripts/load.ts'
