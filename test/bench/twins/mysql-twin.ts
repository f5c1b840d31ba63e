import { hash } from 'node:crypto'
import { createServer } from 'node:http'
import mysql from 'mysql2'
import { announce, given } from './ready.ts'
import { userAnswer, userByTokenSql, type UserAnswerRow } from './user-answer.ts'

// node:http, one prepared join, JSON.stringify: the least that answers GET /user from MariaDB.

const { databaseUrl, connections } = given<{ databaseUrl: string; connections: number }>()
const pool = mysql.createPool({ uri: databaseUrl, connectionLimit: connections })

announce(
  createServer((req, res) => {
    const token = (req.headers.authorization ?? '').slice('Bearer '.length)
    pool.execute<mysql.RowDataPacket[]>(userByTokenSql, [hash('sha256', token, 'buffer')], (error, rows) => {
      const row = error === null ? (rows[0] as UserAnswerRow | undefined) : undefined
      if (row === undefined) return void res.writeHead(error === null ? 401 : 500).end()
      const body = JSON.stringify(userAnswer(row, `http://${req.headers.host}`))
      res.writeHead(200, {
        'Content-Type': 'application/json; charset=utf-8',
        'Content-Length': Buffer.byteLength(body),
      })
      res.end(body)
    })
  }),
)
