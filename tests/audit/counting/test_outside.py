from hypothesis import given

from hedgerow.audit.counting.bin_values import bin_weights
from hedgerow.audit.counting.outside import BoxCounter
from hedgerow.audit.counting.regions import Region
from tests.audit.counting.boxes import bit_list, enumerated, regions, regions_of


@given(regions())
def test_the_cache_does_not_change_counts(case):
    region, weights = case
    boxes = (*region.earlier, region.box)
    counter = BoxCounter(weights, most=len(boxes))
    for _ in range(2):
        for index, box in enumerate(boxes):
            assert counter.outside(box, boxes[:index]) == enumerated(Region(box, boxes[:index]), weights)
    assert counter.outside(region.box, reversed(region.earlier)) == enumerated(region, weights)


def test_regions_of_a_list_sum_to_its_domain():
    model = bit_list(24, 60, 5)
    counter = BoxCounter(bin_weights(model.schema), most=60)
    assert sum(counter.outside(region.box, region.earlier) for region in regions_of(model)) == 2**24
