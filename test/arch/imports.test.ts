// process: own - reads the whole tree
import { globSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import test from 'ava'
import { cruiseProduct, productFolders, ruleNames } from './cruise.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))

test('imports follow the architecture', async (t) => {
  const { files, violations } = await cruiseProduct()
  t.deepEqual(violations, [])
  // The gate is alive only if it read the whole product.
  const onDisk = productFolders.flatMap((folder) => globSync(`${folder}/**/*.ts`, { cwd: root }))
  t.true(onDisk.length > 100)
  t.deepEqual(
    onDisk.filter((file) => !files.includes(file)),
    [],
  )
})

test('each rule fails where it is broken', async (t) => {
  const { files, violations } = await cruiseProduct(fileURLToPath(new URL('fixtures/bad', import.meta.url)))
  t.true(files.length > 40)
  const broken = new Set(violations.map((violation) => violation.rule))
  t.true(ruleNames().length > 40)
  t.deepEqual(
    ruleNames().filter((name) => !broken.has(name)),
    [],
    'add a file that breaks each of these rules to test/arch/fixtures/bad, as for the part clouds',
  )
})
