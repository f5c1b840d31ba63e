import { hash } from 'node:crypto'
import { createServer } from 'node:http'
import Database from 'better-sqlite3'
import { announce, given } from './ready.ts'
import { userAnswer, userByTokenSql, usersByPrefixSql, type UserAnswerRow } from './user-answer.ts'

// node:http, cached statements, JSON.stringify: the least that answers GET /user and a list of users from SQLite.

const { path } = given<{ path: string }>()
const database = new Database(path, { readonly: true })
const byToken = database.prepare<[Buffer], UserAnswerRow>(userByTokenSql)
const byPrefix = database.prepare<[string, string, number], UserAnswerRow>(usersByPrefixSql)

const answerOf = (url: string, row: UserAnswerRow, baseUrl: string): unknown => {
  if (!url.includes('/users/search')) return userAnswer(row, baseUrl)
  const prefix = new URLSearchParams(url.slice(url.indexOf('?') + 1)).get('q') ?? ''
  return { ok: true, data: byPrefix.all(prefix, `${prefix}\u{10FFFF}`, 50).map((user) => userAnswer(user, baseUrl)) }
}

announce(
  createServer((req, res) => {
    const token = (req.headers.authorization ?? '').slice('Bearer '.length)
    const row = byToken.get(hash('sha256', token, 'buffer'))
    if (row === undefined) return void res.writeHead(401).end()
    const body = JSON.stringify(answerOf(req.url ?? '', row, `http://${req.headers.host}`))
    res.writeHead(200, { 'Content-Type': 'application/json; charset=utf-8', 'Content-Length': Buffer.byteLength(body) })
    res.end(body)
  }),
)
