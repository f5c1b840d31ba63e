/** More memory than a slow client leaves waiting is left to the garbage collector. */
const mostWaiting = 64

/**
 * The memory of chunks that were read from a socket and are written to another. Left to the garbage collector, 64 MiB
 * of it make it look at the whole heap of the service, which takes longer than to pass the bytes on.
 */
export class PassedMemory {
  readonly #done: ArrayBuffer[] = []
  #last: ArrayBuffer | undefined

  /**
   * Notes a chunk that is about to be written. Its reader must be the only user of the memory. The reader may still use
   * that of the last chunk.
   */
  add({ buffer }: Uint8Array): void {
    if (buffer === this.#last) return
    if (this.#last !== undefined) this.#done.push(this.#last)
    // Node takes small buffers from common memory of the pool's size, and an empty one may be a constant.
    const isOwn = buffer instanceof ArrayBuffer && buffer.byteLength > 0 && buffer.byteLength !== Buffer.poolSize
    this.#last = isOwn ? buffer : undefined
    if (this.#done.length > mostWaiting) this.#done.length = 0
  }

  /** Frees the memory of all chunks before the last. The system must have taken everything that was written. */
  free(): void {
    for (const buffer of this.#done) buffer.transfer(0)
    this.#done.length = 0
  }
}
