import type { AuthorityStore, LicenseStore, StoredAuthority } from '../../../core/contracts/ports.ts'
import type { Row } from '../kit/columns.ts'
import { columnsOf, cutTo, instant, int, pick, present, without } from '../kit/columns.ts'
import { typedPage } from '../kit/page-query.ts'
import type { SqlDatabase, SqlRunner } from '../kit/statement.ts'
import { insertInto, values } from '../kit/values.ts'
import { licenseAuthorities, licenses } from '../tables/contracts.ts'

const licenseRow = without(licenses, 'id')

const licenseStatements = (db: SqlDatabase) => ({
  insert: insertInto(db, licenses, { omitted: ['id'] }),
  newest: db.prepare(pick(licenses, 'contractId', 'clusterUid', 'kind'), licenseRow, (k, p) =>
    k('licenses')
      .where(values(licenses, { contractId: p.contractId, clusterUid: p.clusterUid, kind: p.kind }))
      .whereNull('revoked_at')
      .orderBy('id', 'desc')
      .limit(1),
  ),
  list: typedPage(
    db,
    pick(licenses, 'contractId'),
    licenseRow,
    (k, p) => k('licenses').where('contract_id', p.contractId),
    (_, rows, cut) => cut(rows.orderBy('id', 'desc')),
  ),
  revoked: db.prepare(
    { authorityId: licenses.authorityId, now: instant(), limit: int() },
    pick(licenses, 'serial', 'revokedAt'),
    (k, p) =>
      k('licenses')
        .where('authority_id', p.authorityId)
        .whereNotNull('revoked_at')
        .where('not_after', '>', p.now)
        .orderBy('serial')
        .limit(p.limit),
  ),
  authority: db.prepare(pick(licenses, 'serial'), pick(licenses, 'authorityId'), (k, p) =>
    k('licenses').where('serial', p.serial),
  ),
  revokeOf: db.prepare({ contractId: licenses.contractId, at: present(licenses.revokedAt) }, (k, p) =>
    k('licenses')
      .where('contract_id', p.contractId)
      .whereNull('revoked_at')
      .update(values(licenses, { revokedAt: p.at })),
  ),
  revoke: db.prepare({ ...pick(licenses, 'contractId', 'serial'), at: present(licenses.revokedAt) }, (k, p) =>
    k('licenses')
      .where(values(licenses, { contractId: p.contractId, serial: p.serial }))
      .whereNull('revoked_at')
      .update(values(licenses, { revokedAt: p.at })),
  ),
})

/** LicenseStore over the table licenses. */
export const makeSqlLicenseStore = (db: SqlDatabase): ((runner: SqlRunner) => LicenseStore) => {
  const s = licenseStatements(db)
  return (runner) => ({
    async insert(license) {
      await runner.run(s.insert, { ...license, issuedBy: cutTo(licenses.issuedBy, license.issuedBy) })
    },
    findNewest: (contractId, clusterUid, kind) => runner.first(s.newest, { contractId, clusterUid, kind }),
    listOf: (contractId, page) => s.list(runner, { contractId }, page),
    listRevoked: (authorityId, now, limit) => runner.all(s.revoked, { authorityId, now, limit }),
    async authorityOf(serial) {
      return (await runner.first(s.authority, { serial }))?.authorityId
    },
    async revokeOf(contractId, at) {
      return (await runner.run(s.revokeOf, { contractId, at })).affected
    },
    async revoke(contractId, serial, at) {
      return (await runner.run(s.revoke, { contractId, serial, at })).affected > 0
    },
  })
}

const authorityRow = columnsOf(licenseAuthorities)

const authorityOf = ({ ref, sealedKey: box, ...authority }: Row<typeof authorityRow>): StoredAuthority => ({
  ...authority,
  sealedKey: box === undefined ? undefined : { ref, box },
})

/** AuthorityStore over the table license_authorities. `add` must run in a transaction. */
export const makeSqlAuthorityStore = (db: SqlDatabase): ((runner: SqlRunner) => AuthorityStore) => {
  const list = db.prepare({}, authorityRow, (k) => k('license_authorities').orderBy('id', 'desc'))
  const retire = db.prepare({ at: present(licenseAuthorities.retiredAt) }, (k, p) =>
    k('license_authorities')
      .whereNull('retired_at')
      .update(values(licenseAuthorities, { retiredAt: p.at })),
  )
  const insert = insertInto(db, licenseAuthorities, { omitted: ['id', 'retiredAt'] })
  return (runner) => ({
    async list() {
      return (await runner.all(list, {})).map(authorityOf)
    },
    async add({ certificatePem, sealedKey }, at) {
      await runner.run(retire, { at })
      const { insertId } = await runner.run(insert, {
        certificatePem,
        ref: sealedKey?.ref ?? '',
        sealedKey: sealedKey?.box,
        createdAt: at,
      })
      return insertId
    },
  })
}
