import { StringDecoder } from 'node:string_decoder'

const longestLine = 500
const mostLines = 2_000
const tailCharacters = 64 * 1024

/** Without escape sequences and control characters. */
export const cleanLine = (line: string): string =>
  line
    .replace(/\u001b\[[0-9;?]*[A-Za-z]/g, '')
    .replace(/[\p{Cc}\p{Cf}]+/gu, ' ')
    .trimEnd()

/** Cuts what a process says into bounded lines, and keeps the last of it. */
export class StderrLines {
  readonly #decoder = new StringDecoder('utf8')
  readonly #onLine: (line: string) => void
  #open = ''
  #tail = ''
  #count = 0

  constructor(onLine: (line: string) => void) {
    this.#onLine = onLine
  }

  add(chunk: Buffer): void {
    this.#take(this.#decoder.write(chunk))
  }

  end(): void {
    this.#take(this.#decoder.end())
    if (this.#open !== '') this.#say(this.#open)
    this.#open = ''
  }

  /** As lines, cleaned. */
  tail(): string {
    return this.#tail.split('\n').map(cleanLine).join('\n')
  }

  #take(text: string): void {
    this.#tail = (this.#tail + text).slice(-tailCharacters)
    const lines = (this.#open + text).split('\n')
    // A line without an end must not grow for ever.
    this.#open = (lines.pop() ?? '').slice(0, 4 * longestLine)
    for (const line of lines) this.#say(line)
  }

  #say(line: string): void {
    const cleaned = cleanLine(line).slice(0, longestLine)
    if (cleaned === '') return
    this.#count += 1
    if (this.#count < mostLines) this.#onLine(cleaned)
    else if (this.#count === mostLines) this.#onLine('Helm says more than is kept.')
  }
}
