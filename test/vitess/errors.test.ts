import test from 'ava'
import { Unavailable } from '../../core/kernel/failure.ts'
import {
  isCommitUnknown,
  isConnectionLost,
  isUnavailable,
  isUniqueViolation,
  toThrown,
} from '../../adapters/sql/kit/driver-errors.ts'

/** An error of vtgate 0.24.4, as mysql2 returns it. */
const ofVtgate = (errno: number, sqlMessage: string): Error =>
  Object.assign(new Error(sqlMessage), { errno, sqlMessage })

const noTablet =
  'target: moorage_accounts.80-.primary: no healthy tablet available for \'keyspace:"moorage_accounts" ' +
  'shard:"80-" tablet_type:PRIMARY\''
const away = [
  noTablet,
  'target: moorage.-.primary: vttablet: rpc error: code = Unavailable desc = error reading from server: EOF',
  'target: moorage.-.primary: primary is not serving, there is a reparent operation in progress',
]
const duplicate = (value: string): string =>
  `target: moorage.-.primary: vttablet: rpc error: code = AlreadyExists desc = Duplicate entry '${value}' for key ` +
  "'accounts.accounts_lower_name_unique' (errno 1062) (sqlstate 23000) (CallerID: userData1): Sql: \"insert into " +
  'accounts(lower_name, lower_email) values (:v1, :v2)", BindVars: {v1: "type:VARCHAR value: for key lock_key"}'

test('a shard outage is answered as a database outage', (t) => {
  for (const message of away) {
    const error = ofVtgate(1105, message)
    t.true(isUnavailable(error), message)
    t.true(toThrown(error) instanceof Unavailable, message)
    t.false(isConnectionLost(error), message)
  }
})

test('a commit may have been made if the shard was lost during it', (t) => {
  for (const message of away) t.true(isCommitUnknown(ofVtgate(1105, message)), message)
  t.false(isCommitUnknown(ofVtgate(1062, duplicate('harbour'))))
})

test('other errors without a number remain errors for any values', (t) => {
  for (const message of [
    'target: moorage.-.primary: vttablet: rpc error: code = Unknown desc = Malformed packet (errno 1105) (sqlstate ' +
      'HY000): Sql: "select :v1", BindVars: {v1: "no healthy tablet available"}',
    'VT12001: unsupported: no healthy tablet available',
  ])
    t.false(isUnavailable(ofVtgate(1105, message)), message)
})

test("the refused key comes from the server's message", (t) => {
  for (const value of ['harbour', 'lower_email', ' for key lower_email']) {
    const error = ofVtgate(1062, duplicate(value))
    t.true(isUniqueViolation(error, 'lower_name'), value)
    t.false(isUniqueViolation(error, 'lower_email'), value)
    t.false(isUniqueViolation(error, 'lock_key'), value)
  }
})
