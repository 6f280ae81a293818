"""A PMML file of a tree, and parts that hold data of rows."""

from hedgerow.schema import Boolean, Integer, Label, Schema

FILE = """<PMML xmlns="http://www.dmg.org/PMML-4_4" version="4.4"><Header/><DataDictionary>
<DataField name="age" optype="continuous" dataType="double"/>
<DataField name="ill" optype="categorical" dataType="string"><Value value="no"/><Value value="yes"/></DataField>
</DataDictionary><TreeModel functionName="classification"><MiningSchema><MiningField name="ill" usageType="target"/>
<MiningField name="age"/></MiningSchema><Node score="no"><True/>
<Node score="no"><SimplePredicate field="age" operator="lessOrEqual" value="50"/>
<ScoreDistribution value="no" recordCount="40"/><ScoreDistribution value="yes" recordCount="12"/></Node>
<Node score="yes"><SimplePredicate field="age" operator="greaterThan" value="50"/>
<ScoreDistribution value="no" recordCount="20"/><ScoreDistribution value="yes" recordCount="28"/></Node></Node>
</TreeModel></PMML>"""
COUNTED = """<PMML xmlns="http://www.dmg.org/PMML-4_4" version="4.4"><Header/><DataDictionary>
<DataField name="w" optype="continuous" dataType="double"/>
<DataField name="kind" optype="categorical" dataType="string"><Value value="a"/><Value value="b"/></DataField>
</DataDictionary><TreeModel functionName="classification" missingValueStrategy="nullPrediction"><MiningSchema>
<MiningField name="kind" usageType="target"/><MiningField name="w"/></MiningSchema><Node><True/>
<Node score="a"{0}><SimplePredicate field="w" operator="lessOrEqual" value="1"/>
<ScoreDistribution value="a" recordCount="{2}"/><ScoreDistribution value="b" recordCount="{3}"/></Node>
<Node score="b"{1}><SimplePredicate field="w" operator="greaterThan" value="1"/>
<ScoreDistribution value="a" recordCount="{4}"/><ScoreDistribution value="b" recordCount="{5}"/></Node>
</Node></TreeModel></PMML>"""
SCHEMA = Schema({"age": Integer(0, 120), "smoker": Boolean()}, Label("ill", ("no", "yes")))
ROWS = "<InlineTable><row><age>97</age><ill>yes</ill></row><row><age>41</age><ill>no</ill></row></InlineTable>"
VERIFICATION = f'<ModelVerification><VerificationFields><VerificationField field="age"/></VerificationFields>{ROWS}'
VERIFICATION += "</ModelVerification>"
STATS = '<ModelStats><UnivariateStats field="age"><NumericInfo minimum="19" maximum="97" mean="51.5"/>'
STATS += "</UnivariateStats></ModelStats>"
INTERVAL = '<Interval closure="closedClosed" leftMargin="{}" rightMargin="{}"/>'
AGE = '<DataField name="age" optype="continuous" dataType="double"'
