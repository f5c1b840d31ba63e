import { createServer } from 'node:http'
import { sampleUsers } from '../plugin/sample-users.ts'
import { announce } from './ready.ts'

// node:http and JSON.stringify of fifty objects in memory.

announce(
  createServer((_req, res) => {
    const body = JSON.stringify(sampleUsers)
    res.writeHead(200, { 'Content-Type': 'application/json; charset=utf-8', 'Content-Length': Buffer.byteLength(body) })
    res.end(body)
  }),
)
