! Procedures contained in another one use its variables and arguments.
! with: parts/check.f90
module places
  implicit none
contains
  subroutine work(a, n)
    !$omp declare target
    integer, intent(in) :: n
    real(8), intent(inout) :: a(n)
    real(8) :: factor
    integer :: i
    factor = 1.5d0
    do i = 1, n
      call add(i)
    end do
    a(1) = a(1) + twice()
  contains
    subroutine add(j)
      integer, intent(in) :: j
      a(j) = a(j) + factor * j
      factor = factor + 0.25d0
    end subroutine

    real(8) function twice()
      twice = factor * 2 + n
    end function
  end subroutine
end module

program contained
  use check
  use places
  implicit none
  real(8) :: there(30), here(30)
  there = 1
  here = 1
  !$omp target map(tofrom: there)
  call work(there, 30)
  !$omp end target
  call work(here, 30)
  call expect('the difference in 1e-9', int(maxval(abs(there - here)) * 1d9), 0)
  call finish
end program
