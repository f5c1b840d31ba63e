import { createServer } from 'node:http'
import { Agent, request } from 'node:https'
import { announce, given } from './ready.ts'

// The usual way to write a proxy: node:http before, https.request behind, pipe between. It checks nobody.

const { upstreamPort, ca, token } = given<{ upstreamPort: number; ca: string; token: string }>()
const agent = new Agent({ keepAlive: true, maxSockets: 64, ca })

announce(
  createServer((req, res) => {
    const sent = request(
      {
        host: '127.0.0.1',
        port: upstreamPort,
        method: req.method,
        path: req.url,
        agent,
        headers: { accept: req.headers.accept, authorization: `Bearer ${token}` },
      },
      (answer) => {
        res.writeHead(answer.statusCode ?? 502, answer.headers)
        answer.pipe(res)
      },
    )
    sent.on('error', () => res.destroy())
    req.pipe(sent)
  }),
)
