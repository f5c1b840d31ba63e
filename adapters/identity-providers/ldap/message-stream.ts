import type { Socket } from 'node:net'
import { Duplex } from 'node:stream'
import { isMessage, messageLength } from './messages.ts'

/** Of one message, and of all messages of an answer. */
const maxMessageBytes = 4 * 1024 * 1024
const maxAnswerBytes = 16 * 1024 * 1024
const maxAnswerMessages = 5_000

/**
 * A connection as the library reads it: each event `data` is one whole message of a sound form, and an answer has
 * limits. The first byte that breaks a rule ends the connection.
 */
export class MessageStream extends Duplex {
  /** What the library asks of a socket: it is open. */
  readonly connecting = false
  readonly readyState = 'open'
  readonly #socket: Socket
  #parts: Buffer[] = []
  #size = 0
  #length: number | undefined
  #bytes = 0
  #messages = 0

  constructor(socket: Socket) {
    super({ readableObjectMode: true, allowHalfOpen: false })
    this.#socket = socket
    socket.on('data', this.#take)
    socket.once('close', this.#end)
    // The library listens once it uses the connection.
    this.on('error', () => undefined)
  }

  /** Begins the limits of an answer again. */
  beginAnswer(): void {
    this.#bytes = 0
    this.#messages = 0
  }

  /** Leaves the socket to another reader. What was read and is no message is dropped. */
  release(): Socket {
    this.#socket.off('data', this.#take)
    this.#socket.off('close', this.#end)
    return this.#socket
  }

  override _read(): void {
    // What arrives is limited, so that it need not wait.
  }

  override _write(chunk: Buffer, _: BufferEncoding, done: (error?: Error | null) => void): void {
    this.#socket.write(chunk, (error) => done(error ?? null))
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.release().destroy()
    done(error)
  }

  readonly #end = (): void => void this.destroy(new Error('the connection was closed'))

  readonly #take = (chunk: Buffer): void => {
    this.#parts.push(chunk)
    this.#size += chunk.length
    this.#bytes += chunk.length
    try {
      if (this.#bytes > maxAnswerBytes) throw new Error('the answer is too large')
      while (this.#hasMessage()) this.#pass()
    } catch (error) {
      this.destroy(error as Error)
    }
  }

  #joined(): Buffer {
    const [first] = this.#parts
    const joined = this.#parts.length === 1 && first !== undefined ? first : Buffer.concat(this.#parts)
    this.#parts = joined.length === 0 ? [] : [joined]
    return joined
  }

  #hasMessage(): boolean {
    if (this.#length === undefined && this.#size > 0) {
      this.#length = messageLength(this.#joined())
      if ((this.#length ?? 0) > maxMessageBytes) throw new Error('the message is too large')
    }
    return this.#length !== undefined && this.#size >= this.#length
  }

  #pass(): void {
    const [all, length] = [this.#joined(), this.#length ?? 0]
    const one = all.subarray(0, length)
    this.#messages += 1
    if (this.#messages > maxAnswerMessages) throw new Error('the answer has too many messages')
    if (!isMessage(one)) throw new Error('no LDAP message')
    this.#parts = [all.subarray(length)]
    this.#size -= length
    this.#length = undefined
    this.push(one)
  }
}
