import { readFileSync } from 'node:fs'
import { registerHooks } from 'node:module'

/*
 * Loaded by each process of a test run of a mutant: the module at the address MOORAGE_MUTANT_OF has the text of the
 * file MOORAGE_MUTANT. The file in the repository stays as it is.
 */
const address = process.env['MOORAGE_MUTANT_OF']
const path = process.env['MOORAGE_MUTANT']

if (address !== undefined && path !== undefined)
  registerHooks({
    load: (url, context, next) =>
      url === address
        ? { format: 'module-typescript', source: readFileSync(path, 'utf8'), shortCircuit: true }
        : next(url, context),
  })
