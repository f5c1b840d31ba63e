import type { RemoteInfo, Socket } from 'node:dgram'
import { createSocket } from 'node:dgram'

const [typeA, typeAaaa] = [1, 28]

export interface DnsQuestion {
  /** In lower case. */
  readonly name: string
  readonly family: 4 | 6
}

/**
 * Addresses, none, `absent` if the name does not exist, `silent` for no answer at all, `frozen` for `absent` after
 * `thaw`.
 */
export type DnsReply = readonly string[] | 'absent' | 'silent' | 'frozen'

export interface DnsServer {
  /** `address:port`. */
  readonly address: string
  readonly seen: readonly DnsQuestion[]
  /** Answers what is frozen, now and later. */
  thaw(): void
  close(): Promise<void>
}

const readQuestion = (message: Buffer): DnsQuestion & { readonly end: number } => {
  const labels: string[] = []
  let at = 12
  for (let length = message.readUInt8(at); length > 0; length = message.readUInt8(at)) {
    labels.push(message.subarray(at + 1, at + 1 + length).toString('latin1'))
    at += 1 + length
  }
  return {
    name: labels.join('.').toLowerCase(),
    family: message.readUInt16BE(at + 1) === typeAaaa ? 6 : 4,
    end: at + 5,
  }
}

const bytesOf = (address: string): Buffer => {
  if (address.includes('.')) return Buffer.from(address.split('.').map(Number))
  const [head = '', tail = ''] = address.split('::')
  const groups = (text: string): readonly string[] => text.split(':').filter((group) => group !== '')
  const missing = 8 - groups(head).length - groups(tail).length
  return Buffer.from(
    [...groups(head), ...Array<string>(missing).fill('0'), ...groups(tail)]
      .map((group) => group.padStart(4, '0'))
      .join(''),
    'hex',
  )
}

const response = (question: Buffer, end: number, reply: readonly string[] | 'absent'): Buffer => {
  const addresses = reply === 'absent' ? [] : reply
  const header = Buffer.from(question.subarray(0, 12))
  header.writeUInt16BE(reply === 'absent' ? 0x8183 : 0x8180, 2)
  header.writeUInt16BE(addresses.length, 6)
  header.writeUInt32BE(0, 8)
  const records = addresses.map((address) => {
    const bytes = bytesOf(address)
    const record = Buffer.alloc(12)
    record.writeUInt16BE(0xc00c, 0)
    record.writeUInt16BE(bytes.length === 4 ? typeA : typeAaaa, 2)
    record.writeUInt16BE(1, 4)
    record.writeUInt16BE(bytes.length, 10)
    return Buffer.concat([record, bytes])
  })
  return Buffer.concat([header, question.subarray(12, end), ...records])
}

/** A DNS server on loopback that answers questions for addresses. */
export const startDnsServer = async (replyTo: (question: DnsQuestion) => DnsReply): Promise<DnsServer> => {
  const socket: Socket = createSocket('udp4')
  const seen: DnsQuestion[] = []
  let frozen: (() => void)[] | undefined = []
  socket.on('message', (message: Buffer, from: RemoteInfo) => {
    const { name, family, end } = readQuestion(message)
    seen.push({ name, family })
    const reply = replyTo({ name, family })
    if (reply === 'silent') return
    const answer = (): void =>
      void socket.send(response(message, end, reply === 'frozen' ? 'absent' : reply), from.port, from.address)
    if (reply !== 'frozen' || frozen === undefined) answer()
    else frozen.push(answer)
  })
  await new Promise<void>((resolve) => socket.bind(0, '127.0.0.1', resolve))
  return {
    address: `127.0.0.1:${socket.address().port}`,
    seen,
    thaw() {
      for (const answer of frozen ?? []) answer()
      frozen = undefined
    },
    close: () => new Promise((resolve) => socket.close(() => resolve())),
  }
}
