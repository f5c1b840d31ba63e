import { environmentNames } from './components/names.ts'

/** Whether only the slow files run (`npm test -- --slow`), where there is time. */
export const isThorough = process.env[environmentNames.thorough] === 'true'

/**
 * How often a check that starts processes is repeated: `usual` times in a run of everything, `thorough` times when only
 * the slow files run (`npm test -- --slow`), where there is time for it.
 */
export const repeats = (usual: number, thorough: number): number => (isThorough ? thorough : usual)
