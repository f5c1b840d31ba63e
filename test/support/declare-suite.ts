import ava, { type TestFn } from 'ava'
import { casesOn, type Bench, type ContractSuite } from '../../composition/runtime/port-tests/contract-suite.ts'

/** Declares the cases of a suite as tests with the titles `<name>: <title>`. */
export const declareSuite = <B extends Bench>(
  suite: ContractSuite<B>,
  name: string,
  open: () => Promise<NoInfer<B>>,
  test: TestFn = ava,
): void => {
  const { cases, close } = casesOn(suite, open)
  for (const { title, run } of cases) (suite.isSerial === true ? test.serial : test)(`${name}: ${title}`, (t) => run(t))
  if (suite.isShared === true) test.after.always(close)
}
