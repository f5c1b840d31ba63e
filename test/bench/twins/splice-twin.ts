import { createServer } from 'node:net'
import { connect } from 'node:tls'
import { announce, given } from './ready.ts'

// Bytes from one socket to the other and back: TCP before, TLS behind, as our tunnel has them.

const { upstreamPort, ca } = given<{ upstreamPort: number; ca: string }>()

announce(
  createServer((client) => {
    const upstream = connect({ host: '127.0.0.1', port: upstreamPort, ca, ALPNProtocols: ['http/1.1'] })
    client.pipe(upstream)
    upstream.pipe(client)
    client.on('error', () => upstream.destroy()).on('close', () => upstream.destroy())
    upstream.on('error', () => client.destroy()).on('close', () => client.destroy())
  }),
)
