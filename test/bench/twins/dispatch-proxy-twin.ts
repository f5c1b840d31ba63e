import { createServer } from 'node:http'
import { Pool, type Dispatcher } from 'undici'
import { announce, given } from './ready.ts'

// The fastest way that is known here: node:http before, undici's dispatch behind. It checks nobody.

const { upstreamPort, ca, token } = given<{ upstreamPort: number; ca: string; token: string }>()
const pool = new Pool(`https://127.0.0.1:${upstreamPort}`, { connect: { ca }, connections: 64, pipelining: 1 })

announce(
  createServer((req, res) => {
    const handler: Dispatcher.DispatchHandler = {
      onRequestStart: (controller) =>
        void res.once('close', () => {
          if (!res.writableFinished) controller.abort(new Error('left'))
        }),
      onResponseStart: (_controller, status, headers) => void res.writeHead(status, headers as Record<string, string>),
      onResponseData: (controller, chunk) => {
        if (res.write(chunk)) return
        controller.pause()
        res.once('drain', () => controller.resume())
      },
      onResponseEnd: () => void res.end(),
      onResponseError: () => void res.destroy(),
    }
    pool.dispatch(
      {
        method: 'GET',
        path: req.url ?? '/',
        headers: { accept: req.headers.accept, authorization: `Bearer ${token}` },
      },
      handler,
    )
  }),
)
